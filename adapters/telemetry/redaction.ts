/** Takes known secrets out of everything that people get to read. */
export interface Redaction {
  /** `text` with every known secret replaced, as it is, URL-encoded, base64 or inside JSON. */
  hide(text: string): string;
  /** The same in the strings and numbers of a text of JSON, which stays one: a secret may be a text that looks like JSON itself. */
  hideIn(json: string): string;
  /** `value` as plain data with every string in it hidden: errors with stack, cause and fields, at most 8 levels deep, cycles cut. */
  plain(value: unknown): unknown;
  /** One more secret to keep, from now on until all who added it have called what is answered, and for a while after that. */
  add(secret: Secret): () => void;
}

export interface Secret {
  readonly text: string;
  /** What people read in its place, e.g. `token in Secret web/do-token`. */
  readonly what: string;
}

/** Shorter ones are no secrets, and words that stand everywhere: without them nothing could be read. */
const SHORTEST = 8;

/** What is longer stands in nothing that is shown: a container’s last words have 4,096 bytes, a token 512 characters. */
const LONGEST = 4_096;

const DEEPEST = 8;

/** How long a secret that nobody uses any more is still kept, ms: a Job that got it may end and tell it, and it may be good for a while. */
const FORMER_MS = 3_600_000;

/** How many of them, the newest. */
const MOST_FORMER = 100;

const JSON_VALUE = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

const placeholder = (what: string): string => `[redacted: ${what}]`;

/** The spellings in which a secret shows up: Redis URLs encode it, HTTP basic authentication wraps it, JSON escapes it. */
function spellings(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret);
  return [secret, encoded, encoded.toLowerCase(), JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('base64')];
}

interface Known {
  /** Every spelling of every secret, and what stands in its place. One may contain another one: replacing the shorter first would leave the rest of the longer
   *  to be read. */
  readonly longestFirst: readonly (readonly [spelling: string, placeholder: string])[];
  /** Finds any of them; null before so many texts have come that it is worth its while. */
  any: RegExp | null;
  texts: number;
}

/** To make ready for looking for all secrets at once takes as long as to look for one after the other in so many texts. */
const WORTH_TEXTS = 256;

function knownOf(secrets: readonly Secret[]): Known {
  const known = new Map(secrets.flatMap(({ text, what }) => spellings(text).map((spelling) => [spelling, placeholder(what)])));
  return { longestFirst: [...known].sort(([a], [b]) => b.length - a.length), any: null, texts: 0 };
}

/** Few texts bear a secret, and there may be a thousand spellings to be looked for. */
function mayBear(text: string, known: Known): boolean {
  known.texts += 1;
  if (known.texts === WORTH_TEXTS) known.any = new RegExp(known.longestFirst.map(([spelling]) => RegExp.escape(spelling)).join('|'));
  return known.any?.test(text) ?? true;
}

/** What was put in a secret’s place is not looked through again: a placeholder may bear what another one calls its secret. */
function replaced(text: string, { longestFirst }: Known): string {
  /** Every second one is a placeholder. */
  let parts: readonly string[] = [text];
  for (const [spelling, instead] of longestFirst) {
    if (!text.includes(spelling)) continue;
    parts = parts.flatMap((part, index) =>
      index % 2 === 1 ? [part] : part.split(spelling).flatMap((piece, at) => (at > 0 ? [instead, piece] : [piece])),
    );
  }
  return parts.join('');
}

/** A redaction that knows `secrets`. `now` in ms, of any beginning. */
export function redaction(secrets: readonly Secret[] = [], now = () => performance.now()): Redaction {
  /** By text, what each of its users calls it. */
  const users = new Map<string, readonly string[]>();
  /** By text, oldest first. */
  const former = new Map<string, { readonly what: string; readonly since: number }>();
  /** Null while it is to be found out anew: hundreds of accounts come at a time. */
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

/** A secret of digits alone must not slip through as a number. */
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
