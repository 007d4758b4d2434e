import { LOG_KEYS, type LogFields } from '../../actors/ports/observers.ts';

const KEYS: ReadonlySet<string> = new Set(LOG_KEYS);

/** The fields of a line. The compiler does not see what is spread into them. @throws Error when one is of a key that there is not */
export const known = <Fields extends LogFields | undefined>(fields: Fields): Fields => {
  const strange = Object.keys(fields ?? {}).filter((key) => !KEYS.has(key));
  if (strange.length > 0) throw new Error(`no keys of the log: ${strange.join(', ')}`);
  return fields;
};
