/** Readers of a parsed JSON body: each returns the value if it has the type that is asked for, else undefined. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

export function text(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function integer(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

export function flag(fields: Fields, name: string): boolean | undefined {
  const value = fields[name];
  return typeof value === 'boolean' ? value : undefined;
}

/** A body as JSON, undefined where there is none; null for what is no JSON. */
export function parseJson(body: string): { readonly value: unknown } | null {
  if (body === '') return { value: undefined };
  try {
    return { value: JSON.parse(body) as unknown };
  } catch {
    return null;
  }
}
