/** Takes known secrets out of everything that people get to read. */
export interface Redaction {
  /** `text` with every known secret replaced, as it is, URL-encoded, base64 or inside JSON. */
  hide(text: string): string;
  /** `value` as plain data with every string in it hidden: errors with stack, cause and fields, at most 8 levels deep, cycles cut. */
  plain(value: unknown): unknown;
  /** One more secret to keep, from now on until all who added it have called what is answered, and for a while after that. Empty ones are ignored. */
  add(secret: string): () => void;
}

const PLACEHOLDER = '[redacted]';
const DEEPEST = 8;

/** How many secrets that nobody uses any more are still kept, the newest: late errors may bear them, and they may be good for a while. */
const MOST_FORMER = 100;

/** The spellings in which a secret shows up: Redis URLs encode it, HTTP basic authentication wraps it, JSON escapes it. */
function spellings(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret);
  return [secret, encoded, encoded.toLowerCase(), JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('base64')];
}

interface Known {
  /** Every spelling of every secret. One may contain another one: replacing the shorter first would leave the rest of the longer to be read. */
  readonly longestFirst: readonly string[];
  /** Finds any of them; null before so many texts have come that it is worth its while. */
  any: RegExp | null;
  texts: number;
}

/** To make ready for looking for all secrets at once takes as long as to look for one after the other in so many texts. */
const WORTH_TEXTS = 256;

function knownOf(secrets: readonly string[]): Known {
  const longestFirst = [...new Set(secrets.flatMap(spellings))].sort((a, b) => b.length - a.length);
  return { longestFirst, any: null, texts: 0 };
}

/** Few texts bear a secret, and there may be a thousand spellings to be looked for. */
function mayBear(text: string, known: Known): boolean {
  known.texts += 1;
  if (known.texts === WORTH_TEXTS) known.any = new RegExp(known.longestFirst.map((spelling) => RegExp.escape(spelling)).join('|'));
  return known.any?.test(text) ?? true;
}

/** A redaction that knows `secrets`. */
export function redaction(secrets: readonly string[] = []): Redaction {
  const users = new Map<string, number>();
  /** Oldest first. */
  const former = new Set<string>();
  /** Null while it is to be found out anew: hundreds of accounts come at a time. */
  let known: Known | null = null;

  const add = (secret: string): (() => void) => {
    if (secret === '') return () => undefined;
    users.set(secret, (users.get(secret) ?? 0) + 1);
    former.delete(secret);
    known = null;
    let isUsed = true;
    return () => {
      if (isUsed) leave(secret);
      isUsed = false;
    };
  };
  const leave = (secret: string): void => {
    const others = (users.get(secret) ?? 1) - 1;
    if (others > 0) {
      users.set(secret, others);
      return;
    }
    users.delete(secret);
    former.add(secret);
    const [oldest] = former;
    if (former.size > MOST_FORMER && oldest !== undefined) former.delete(oldest);
    known = null;
  };
  const hide = (text: string): string => {
    known ??= knownOf([...users.keys(), ...former]);
    return mayBear(text, known) ? known.longestFirst.reduce((left, secret) => left.replaceAll(secret, PLACEHOLDER), text) : text;
  };
  const plain = (value: unknown): unknown => walk(value, hide, []);

  for (const secret of secrets) add(secret);
  return { hide, plain, add };
}

function walk(value: unknown, hide: (text: string) => string, above: readonly object[]): unknown {
  if (typeof value === 'string') return hide(value);
  if (typeof value === 'number') return Number.isFinite(value) ? hiddenNumber(value, hide) : String(value);
  if (typeof value === 'bigint' || typeof value === 'symbol') return hide(String(value));
  if (typeof value === 'function') return '[function]';
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '[circular]';
  if (above.length >= DEEPEST) return '[deeper]';
  return walkObject(value, hide, [...above, value]);
}

/** A secret of digits alone must not slip through as a number. */
function hiddenNumber(value: number, hide: (text: string) => string): number | string {
  const hidden = hide(String(value));
  return hidden === PLACEHOLDER ? hidden : value;
}

function walkObject(value: object, hide: (text: string) => string, above: readonly object[]): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, hide, above));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof Map) return walk(Object.fromEntries(value), hide, above);
  if (value instanceof Set) return walk([...value], hide, above);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  const fields = value instanceof Error ? { ...errorFields(value), ...value } : value;
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [hide(key), walk(field, hide, above)]));
}

/** What spreading an error leaves out: these are not enumerable. */
function errorFields(error: Error): Record<string, unknown> {
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause !== undefined && { cause: error.cause }),
    ...(error instanceof AggregateError && { errors: error.errors }),
  };
}
