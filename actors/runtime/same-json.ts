const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The keys that JSON keeps: undefined values are omitted. */
const keysOf = (value: object): readonly string[] =>
  Object.keys(value).filter((key) => (value as Record<string, unknown>)[key] !== undefined);

/** Whether two values are the same JSON, regardless of key order. Stops at the first difference, and skips subtrees that both share: of the state of a pool with thousands
 *  of nodes hardly anything changes in a turn. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, index) => isSameJson(each, other[index]));
  const keys = keysOf(one);
  const fields = [one, other] as readonly Readonly<Record<string, unknown>>[];
  return keys.length === keysOf(other).length && keys.every((key) => isSameJson(fields[0]?.[key], fields[1]?.[key]));
}
