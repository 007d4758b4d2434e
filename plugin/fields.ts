export type Fields = Readonly<Record<string, unknown>>;

/** An object's fields; none for anything but an object. */
export const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
