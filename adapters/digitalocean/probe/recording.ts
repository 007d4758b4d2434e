import { isIP } from 'node:net';
import { isFields } from '../../../machines/model/types.ts';
import type { Heard } from '../../http/exchange.ts';
import { parsed } from '../../http/read.ts';

const HEADERS = ['content-type', 'date', 'retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

/** The exchanges, redacted. Repeated identical responses to the same request are omitted. */
export function recordingOf(heard: readonly Heard[], about: { readonly version: string; readonly api: string }) {
  const redactor = new Redactor();
  const last = new Map<string, string>();
  const exchanges = heard
    .map((each) => exchangeOf(each, redactor))
    .filter(({ method, path, headers: _, ...rest }) => {
      const [key, said] = [`${method} ${path}`, JSON.stringify(rest)];
      const isNew = method !== 'GET' || last.get(key) !== said;
      last.set(key, said);
      return isNew;
    });
  return { recording: 1, ...about, exchanges } as const;
}

/** One request and its response, without data of the account. */
export type RecordedExchange = ReturnType<typeof exchangeOf>;
export type Recording = ReturnType<typeof recordingOf>;

function exchangeOf({ method, url, body, reply: { status, headers, text } }: Heard, redactor: Redactor) {
  const answer = parsed(text);
  return {
    method,
    /** Path and query of the URL. */
    path: redactor.path(url),
    ...(body !== undefined && { body: redactor.value(parsed(body)) }),
    status,
    headers: Object.fromEntries(HEADERS.filter((name) => headers[name]).map((name) => [name, String(headers[name])])),
    /** JSON; absent when the response had no body, or no JSON. */
    ...(answer !== undefined && { answer: redactor.value(answer) }),
    /** A proxy's page may contain anything: only its length is kept. */
    ...(answer === undefined && text !== '' && { foreignBytes: Buffer.byteLength(text) }),
  };
}

/** Parts of paths that are the API's own words. */
const WORDS =
  /^(|v2|reserved_ips|floating_ips|reserved_ipv6|actions|droplets|domains|records|firewalls|rules|tags|byoip_prefixes|account)$/;
/** Fields whose values are words of the API, if they look like words. */
const KEPT = /^(status|type|slug|region|region_slug|resource_type|protocol|ports|rel|features|error id)$/;
const WORD = /^[\w.-]{1,40}$/;
/** Long fields that the adapter does not use: emptied. */
const EMPTIED = /^(image|size|kernel|sizes|regions|zone_file|backup_ids|snapshot_ids|volume_ids|next_backup_window)$/;
const KEY = /^[a-z0-9_]{1,40}$/;
const ID = /(^|[_ ])ids?$/;
/** Times, and the name of a zone itself. */
const TIME = /^(|@|\d{4}-\d\d-\d\dT[\d:.]+Z)$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Patterns of account data in text. If two match at the same position, the first one wins. */
const FORMS = {
  email: /[^\s@<>"']+@[^\s@<>"']+/,
  url: /https?:\/\/\S+/,
  uuid: /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/,
  ip: /(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])|\b\d{1,3}(?:\.\d{1,3}){3}\b/,
  quoted: /"[^"]+"|`[^`]+`|'[^']+'/,
  domain: /\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b/,
  id: /(?<![\w.-])\d{4,}(?![\w.-])/,
};
const TELLING = new RegExp(
  Object.entries(FORMS)
    .map(([form, { source }]) => `(?<${form}>${source})`)
    .join('|'),
  'gi',
);
type Telling = Readonly<Partial<Record<keyof typeof FORMS, string>>>;

/** Masks and special addresses, which reveal nothing about an account. */
const NOBODYS = /^(255\.|0\.0\.0\.0$|127\.|192\.0\.2\.1$|::$|::1$)/;
const PRIVATE = /^(10|172\.(1[6-9]|2\d|3[01])|192\.168)\./;
/** Look like domains, but are response fields, or the public API host. */
const NO_DOMAIN = /^(meta\.total|region\.slug|networks\.v[46]|api\.digitalocean\.com)$/;

const tail = (n: number): string => `${n >> 8}.${n & 255}`;
/** The replacement for the n-th value of a kind. */
const PLACES = {
  uuid: (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  id: (n: number) => String(1000 + n),
  key: (n: number) => `key_${n}`,
  /** RFC 5737 first, then the benchmark range (RFC 2544). */
  ip4: (n: number, ip: string) => (PRIVATE.test(ip) ? `10.0.${tail(n)}` : n <= 254 ? `203.0.113.${n}` : `198.18.${tail(n)}`),
  ip6: (n: number) => `2001:db8::${n.toString(16)}`,
  /** With a dot if the name has one, like a zone. */
  name: (n: number, name: string) => (/\w\.\w/.test(name) ? `name-${n}.example` : `name-${n}`),
};
type Kind = keyof typeof PLACES;

/** Replaces ids, addresses and names by documentation values, consistently, so that references still match. */
export class Redactor {
  readonly #places = Object.fromEntries(Object.keys(PLACES).map((kind) => [kind, new Map()])) as Record<Kind, Map<string, string>>;

  /** Registers known ids and names, so that names are also replaced within text. */
  learn(ids: readonly number[], names: readonly string[]): void {
    for (const id of ids) this.#place('id', String(id));
    for (const name of names) this.#place('name', name);
  }

  /** Redacts JSON that was received or sent. Of an account only numbers are kept; free text is redacted by `text`. */
  value(value: unknown, key = ''): unknown {
    if (typeof value === 'string') return EMPTIED.test(key) ? '' : this.#string(value, key);
    if (typeof value === 'number') return ID.test(key) ? Number(this.#place('id', String(value))) : value;
    if (Array.isArray(value)) return EMPTIED.test(key) ? [] : value.map((item) => this.value(item, key));
    if (!isFields(value)) return value;
    const entries = Object.entries(value).filter(([, field]) => !EMPTIED.test(key) && (key !== 'account' || typeof field === 'number'));
    const about = (name: string): string => (typeof value.message === 'string' && /^(id|message)$/.test(name) ? `error ${name}` : name);
    return Object.fromEntries(
      entries.map(([name, field]) => [KEY.test(name) ? name : this.#place('key', name), this.value(field, about(name))]),
    );
  }

  /** The redacted path of a URL below the API's base URL, with its query. */
  path(url: string): string {
    const { pathname, searchParams } = new URL(url, 'https://api.digitalocean.com');
    const parts = pathname
      .slice(Math.max(0, pathname.lastIndexOf('/v2/')))
      .split('/')
      .map(decodeURIComponent);
    // A zone may have such a word as its name.
    const isWord = (part: string, index: number): boolean => WORDS.test(part) && parts[index - 1] !== 'domains';
    const path = parts.map((part, index) => (isWord(part, index) ? part : this.#string(part, 'id'))).join('/');
    const query = [...searchParams].map(([name, value]) => [name, /^(per_)?page$/.test(name) ? value : this.#place('name', value)]);
    return query.length === 0 ? path : `${path}?${new URLSearchParams(query as [string, string][])}`;
  }

  /** Free text, with everything that matches a pattern replaced, and every known name. */
  text(text: string): string {
    const plain = text.replace(TELLING, (found: string, ...more: unknown[]) => this.#telling(found, more.at(-1) as Telling));
    return [...this.#places.name]
      .filter(([name]) => name.length > 2)
      .toSorted(([a], [b]) => b.length - a.length)
      .reduce((said, [name, place]) => said.replaceAll(new RegExp(`(?<![\\w.-])${RegExp.escape(name)}(?![\\w-])`, 'g'), place), plain);
  }

  #telling(found: string, { email, url, uuid, ip, quoted, id }: Telling): string {
    if (email) return 'someone@example.com';
    if (url) return 'https://api.digitalocean.com/';
    if (ip) return this.#address(found) ?? found;
    if (quoted) return `${found[0]}${this.#string(found.slice(1, -1), '')}${found[0]}`;
    if (NO_DOMAIN.test(found)) return found;
    return this.#place(uuid ? 'uuid' : id ? 'id' : 'name', found);
  }

  #string(value: string, key: string): string {
    if (key === 'error message') return this.text(value);
    if (TIME.test(value)) return value;
    if (UUID.test(value)) return this.#place('uuid', value);
    if (/^https?:/.test(value) && URL.canParse(value)) return `https://api.digitalocean.com${this.path(value)}`;
    if (/^\d+$/.test(value) && ID.test(key)) return this.#place('id', value);
    return this.#address(value) ?? (KEPT.test(key) && WORD.test(value) ? value : this.#place('name', value));
  }

  /** With or without a prefix length. Null when it is not an address. */
  #address(text: string): string | null {
    const [, host = '', bits = ''] = /^([^/]+)(\/\d{1,3})?$/.exec(text) ?? [];
    if (isIP(host) === 0) return null;
    return NOBODYS.test(host) ? text : this.#place(isIP(host) === 4 ? 'ip4' : 'ip6', host) + bits;
  }

  #place(kind: Kind, text: string): string {
    const places = this.#places[kind];
    const place = places.get(text) ?? PLACES[kind](places.size + 1, text);
    places.set(text, place);
    return place;
  }
}
