/** Redacts known secrets in all output for users. */
export interface Redaction {
  /** `text` with every known secret replaced: verbatim, URL-encoded, base64 or inside JSON. */
  hide(text: string): string;
  /** The same in the strings and numbers of JSON text, which stays valid: a secret may itself look like JSON. */
  hideIn(json: string): string;
  /** `value` as plain data with every string redacted: errors with stack, cause and fields, at most 8 levels deep, cycles cut. */
  plain(value: unknown): unknown;
  /** Adds a secret, until all callers that added it have called the returned function, and for a while after that. */
  add(secret: Secret): () => void;
}

export interface Secret {
  readonly text: string;
  /** Description shown in its place, e.g. `token in Secret web/do-token`. */
  readonly what: string;
}

/** Shorter values are not secrets but common words: redacting them would make output unreadable. */
const SHORTEST = 8;

/** Longer values never appear in output: a termination message has up to 4,096 bytes, a token 512 characters. */
const LONGEST = 4_096;

const DEEPEST = 8;

/** How long an unused secret is still redacted, ms: a Job that received it may still print it, and it may still be valid. */
const FORMER_MS = 3_600_000;

/** Maximum number of unused secrets kept, the newest. */
const MOST_FORMER = 100;

const JSON_VALUE = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

const placeholder = (what: string): string => `[redacted: ${what}]`;

/** The forms in which a secret appears: Redis URLs encode it, HTTP basic authentication wraps it, JSON escapes it. */
function spellings(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret);
  return [secret, encoded, encoded.toLowerCase(), JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('base64')];
}

interface Known {
  /** Every spelling of every secret with its placeholder. One may contain another: replacing the shorter first would leave the rest of the longer one
   *  readable. */
  readonly longestFirst: readonly (readonly [spelling: string, placeholder: string])[];
  /** Matches any of them; null until enough texts were checked to make it worthwhile. */
  any: RegExp | null;
  texts: number;
}

/** Compiling the combined pattern costs as much as searching this many texts for one secret after the other. */
const WORTH_TEXTS = 256;

function knownOf(secrets: readonly Secret[]): Known {
  const known = new Map(secrets.flatMap(({ text, what }) => spellings(text).map((spelling) => [spelling, placeholder(what)])));
  return { longestFirst: [...known].sort(([a], [b]) => b.length - a.length), any: null, texts: 0 };
}

/** Few texts contain a secret, and there may be a thousand spellings to search for. */
function mayBear(text: string, known: Known): boolean {
  known.texts += 1;
  if (known.texts === WORTH_TEXTS) known.any = new RegExp(known.longestFirst.map(([spelling]) => RegExp.escape(spelling)).join('|'));
  return known.any?.test(text) ?? true;
}

/** Placeholders are not searched again: one may contain the spelling of another secret. */
function replaced(text: string, { longestFirst }: Known): string {
  /** Every second part is a placeholder. */
  let parts: readonly string[] = [text];
  for (const [spelling, instead] of longestFirst) {
    if (!text.includes(spelling)) continue;
    parts = parts.flatMap((part, index) =>
      index % 2 === 1 ? [part] : part.split(spelling).flatMap((piece, at) => (at > 0 ? [instead, piece] : [piece])),
    );
  }
  return parts.join('');
}

/** A redaction that knows `secrets`. `now` in ms, from any origin. */
export function redaction(secrets: readonly Secret[] = [], now = () => performance.now()): Redaction {
  /** By text, the description of each of its users. */
  const users = new Map<string, readonly string[]>();
  /** By text, oldest first. */
  const former = new Map<string, { readonly what: string; readonly since: number }>();
  /** Null while it must be rebuilt; lazy, since hundreds of accounts are added at a time. */
  let known: Known | null = null;

  const add = ({ text, what }: Secret): (() => void) => {
    if (text.length < SHORTEST || text.length > LONGEST) return () => undefined;
    users.set(text, [...(users.get(text) ?? []), what]);
    former.delete(text);
    known = null;
    let isUsed = true;
    return () => {
      if (isUsed) leave({ text, what });
      isUsed = false;
    };
  };
  const leave = ({ text, what }: Secret): void => {
    const others = [...(users.get(text) ?? [])];
    others.splice(others.indexOf(what), 1);
    users.set(text, others);
    if (others.length === 0) {
      users.delete(text);
      former.set(text, { what, since: now() });
    }
    known = null;
  };
  const forget = (): void => {
    for (const [text, { since }] of former) {
      if (former.size <= MOST_FORMER && now() - since < FORMER_MS) return;
      former.delete(text);
      known = null;
    }
  };
  const hide = (text: string): string => {
    forget();
    known ??= knownOf([
      ...[...former].map(([secret, { what }]) => ({ text: secret, what })),
      ...[...users].map(([secret, [what = '']]) => ({ text: secret, what })),
    ]);
    return mayBear(text, known) ? replaced(text, known) : text;
  };
  const hideIn = (json: string): string =>
    hide(json) === json ? json : json.replace(JSON_VALUE, (value) => JSON.stringify(walk(JSON.parse(value), hide, [])));
  const plain = (value: unknown): unknown => walk(value, hide, []);

  for (const secret of secrets) add(secret);
  return { hide, hideIn, plain, add };
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

/** An all-digit secret must not slip through as a number. */
function hiddenNumber(value: number, hide: (text: string) => string): number | string {
  const hidden = hide(String(value));
  return /^\[.*\]$/.test(hidden) ? hidden : value;
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

/** The non-enumerable fields that spreading an error omits. */
function errorFields(error: Error): Record<string, unknown> {
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause !== undefined && { cause: error.cause }),
    ...(error instanceof AggregateError && { errors: error.errors }),
  };
}
