export type Fields = Readonly<Record<string, unknown>>;

/** What an object holds by name; nothing for what is no object. */
export const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
