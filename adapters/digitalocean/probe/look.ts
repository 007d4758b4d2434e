import type { ProbeOptions } from '../../../actors/ports/account-probe.ts';
import type { ProviderError } from '../../../actors/ports/errors.ts';
import { type Address, type Fields, fieldsOf, isFields, type ProviderID } from '../../../machines/model/types.ts';
import type { Heard } from '../../http/exchange.ts';
import { counted, fields as fieldsIn } from '../../http/read.ts';
import { LISTS, type List, NOBODYS, SCOPES, valueAt } from './expected.ts';
import { ask, attempt, CannotAsk, messageOf, READ, type Session, unlessGone } from './session.ts';

type Wish = Pick<ProbeOptions, 'reads' | 'zone' | 'firewall'>;

/** The API's maximum, and what the adapter requests. */
const PER_PAGE = 200;
/** Maximum number of pages read per list. */
const MOST_PAGES = 3;
/** The operator's default request budget per hour. */
const REQUESTS_PER_HOUR = 5000;
/** The account; and through the adapter a list of each family, a nonexistent address and Droplet, the prefixes for that address, a zone and a firewall. */
const OTHERS = 8;

/** Maximum number of requests of a look, unless the adapter reads lists of more than one page. */
export const mostReads = ({ reads }: Pick<Wish, 'reads'>): number => LISTS.length * MOST_PAGES + OTHERS + reads;

/** What was read. `has` is null when unknown, a limit when it cannot be read; a list that `isCut` has more pages. */
export type Look = Awaited<ReturnType<typeof look>>;

/** Inspects the account without changes. Deviations from the expected are added to `differences`. @throws CannotAsk */
export async function look(session: Session, wish: Wish, differences: string[]) {
  const { heard } = session;
  const lists: Awaited<ReturnType<typeof listRow>>[] = [];
  for (const list of LISTS) lists.push(await listRow(session, list));
  const [{ error } = { error: null }] = lists;
  if (error && lists.every(({ has }) => has === null)) throw new CannotAsk(error.message);
  const scopes = SCOPES.map((row) => ({ ...row, has: lists.find(({ scope }) => scope === row.scope)?.has ?? null }));
  for (const row of scopes) if (row.has === false) differences.push(`the scope ${row.scope} is missing, for ${row.for}`);
  const seen = lists.filter(({ scope }) => !scopes.some((row) => row.scope === scope && row.has === false));
  for (const { path, troubles } of seen) differences.push(...troubles.map((trouble) => `${path}: ${trouble}`));
  const limit = await addressLimit(session, differences);
  await byAdapter(session, wish, differences);
  const latency = await latencies(session, wish.reads);
  const requests = requestLimit(heard);
  if (requests === null) differences.push('the headers ratelimit-limit, -remaining and -reset are missing');
  else if (requests.limit < REQUESTS_PER_HOUR)
    differences.push(`${requests.limit} requests an hour are allowed: start the operator with --rate-limit-per-hour ${requests.limit}`);
  const foreign = heard.find(({ reply }) => reply.status === 200 && !reply.headers['content-type']?.startsWith('application/json'));
  if (foreign) differences.push(`an answer has the content type ${foreign.reply.headers['content-type'] ?? 'none'}`);
  const actions = (lists.find(({ path }) => path === '/actions')?.found ?? []).filter(isFields);
  return {
    scopes,
    limits: { addresses: { limit, present: lists.find(({ path }) => path === '/reserved_ips')?.total ?? null }, requests },
    lists: seen.map(({ path, items, total, pages, isCut }) => ({ path, items, total, pages, isCut })),
    headers: headerFigures(heard),
    latency,
    actions: { since: actions.map(({ started_at }) => String(started_at)).sort()[0] ?? null, rows: actionRows(actions) },
  };
}

/** The first pages of a list, and what is wrong with them. @throws CannotAsk also when nothing has responded yet */
async function listRow(session: Session, list: List) {
  const { scope, path, key } = list;
  const pages: Page[] = [];
  let last: Page | null;
  let error: ProviderError | null;
  do {
    const answer = await ask(session, `${path}?page=${pages.length + 1}&per_page=${PER_PAGE}`);
    if (answer.error && session.heard.length === 0) throw new CannotAsk(answer.error.message);
    last = pageOf(answer.value, key);
    error = answer.error;
    if (last) pages.push(last);
  } while (last?.hasNext && pages.length < MOST_PAGES);
  const found = pages.flatMap(({ items }) => items);
  const failed = last ? [] : [error?.message ?? `the answer has no list ${key}`];
  const troubles = [...failed, ...pageTroubles(pages, found.length), ...(await itemTroubles(list, found))];
  const has = pages.length > 0 || error === null || (error.kind === 'Unauthorized' ? false : null);
  const figures = { items: found.length, total: pages.at(-1)?.total ?? null, pages: pages.length, isCut: last?.hasNext === true };
  return { scope, path, ...figures, has, error, found, troubles };
}

type Page = NonNullable<ReturnType<typeof pageOf>>;

/** Null for a response without a list of this key; `total` is null when missing, `hasNext` without page links. */
function pageOf(body: Fields | null, key: string) {
  const [items, total, links] = [key, 'meta.total', 'links'].map((path) => valueAt(body, path));
  const hasNext = isFields(links) ? typeof valueAt(links, 'pages.next') === 'string' : null;
  return Array.isArray(items) ? { items: items as readonly unknown[], total: typeof total === 'number' ? total : null, hasNext } : null;
}

function* pageTroubles(pages: readonly Page[], shown: number): Iterable<string> {
  const [total = null, ...others] = new Set(pages.map((page) => page.total));
  if (pages.some((page) => page.total === null)) yield 'meta.total is missing';
  if (pages.some(({ hasNext }) => hasNext === null)) yield 'links is missing';
  if (others.length > 0) yield `meta.total changed while it was read: ${[total, ...others].join(', ')}`;
  else if (pages.at(-1)?.hasNext === false && total !== null && total !== shown)
    yield `${shown} items were shown, and meta.total is ${total}`;
  const odd = pages.find(({ items, hasNext }) => items.length > PER_PAGE || (hasNext && items.length < PER_PAGE));
  if (odd) yield `a page has ${odd.items.length} items although ${PER_PAGE} were asked for${odd.hasNext ? ' and more follow' : ''}`;
}

async function itemTroubles({ read, fields, statuses }: List, items: readonly unknown[]): Promise<readonly string[]> {
  const outcomes = await Promise.allSettled(items.map(async (item) => read(fieldsIn(item, 'item'))));
  const unreadable = outcomes.flatMap((each) => (each.status === 'rejected' ? messageOf(each.reason) : []));
  const ids = items.map((item, index) => valueAt(item, fields[0] ?? '') ?? index);
  const foreign = items.map((item) => fieldsOf(item).status).filter((status) => statuses && !statuses.some((known) => known === status));
  const rows: readonly (readonly [what: string, found: readonly unknown[]])[] = [
    [`cannot be read: ${unreadable[0]}`, unreadable],
    ['were shown before', ids.filter((id, index) => ids.indexOf(id) < index)],
    ...fields.map((field) => [`have no ${field}`, items.filter((item) => valueAt(item, field) === undefined)] as const),
    [`have a status that the adapter does not know: ${[...new Set(foreign)].slice(0, 5).join(', ')}`, foreign],
  ];
  return rows.filter(([, found]) => found.length > 0).map(([what, found]) => `${found.length} of ${items.length} items ${what}`);
}

/** The limit of reserved IPv4 addresses; null when the account may not be read, which the operator does not need. */
async function addressLimit(session: Session, differences: string[]): Promise<number | null> {
  const { value, error } = await ask(session, '/account');
  const { floating_ip_limit: limit } = fieldsOf(fieldsOf(value).account);
  if (typeof limit === 'number') return limit;
  if (error?.kind !== 'Unauthorized') differences.push(`/account: ${error?.message ?? 'the answer has no floating_ip_limit'}`);
  return null;
}

/** Reads through the adapter, as the operator does, and adds what differs. */
async function byAdapter(session: Session, { zone, firewall }: Wish, differences: string[]): Promise<void> {
  const { provider } = session;
  const [nobody, nowhere] = [NOBODYS.address as Address, NOBODYS.droplet as ProviderID];
  /** Each returns a string when the result is not as expected. */
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    'the list of IPv4 addresses': () => provider.listRoutedIPs({ ...READ, family: 4 }),
    'the list of IPv6 addresses': () => provider.listRoutedIPs({ ...READ, family: 6 }),
    'an address that nobody has': () => provider.findRoutedIP(nobody, READ).then(() => 'it is there', unlessGone),
    'a Droplet that nobody has': () => provider.findNode(nowhere, READ).then((found) => (found === 'gone' ? null : 'it is there')),
    ...(zone !== undefined && { 'the zone': () => provider.listDNSRecords(zone, READ) }),
    ...(firewall !== undefined && {
      'the firewall': () => provider.findRoutedIPFirewall(firewall, READ).then((found) => found ?? 'there is none'),
    }),
  };
  for (const [what, read] of Object.entries(reads)) {
    const { value, error } = await attempt(session, read);
    const trouble = error?.message ?? value;
    if (typeof trouble === 'string') differences.push(`${what}, as the operator reads it: ${trouble}`);
  }
}

/** Latencies of sequential reads of one item. */
async function latencies(session: Session, reads: number) {
  const first = session.heard.length;
  for (let read = 0; read < reads; read += 1) await ask(session, '/reserved_ips?page=1&per_page=1');
  const took = session.heard.slice(first).map(({ tookMs }) => tookMs);
  return { reads: took.length, p50Ms: quantile(took, 0.5), p90Ms: quantile(took, 0.9), p99Ms: quantile(took, 0.99) };
}

// ---------------------------------------------------------------- figures

/** The smallest value that at least `share` of all values do not exceed (nearest rank), rounded to a tenth; null without values. */
function quantile(values: readonly number[], share: number): number | null {
  const value = values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)];
  return value === undefined ? null : Math.round(value * 10) / 10;
}

const grouped = <T>(values: readonly T[], nameOf: (value: T) => string) =>
  [...Map.groupBy(values, nameOf)].sort(([a], [b]) => (a < b ? -1 : 1));

/** Durations of the actions on addresses by type, ms; the API reports whole seconds. */
function actionRows(actions: readonly unknown[]) {
  const about = actions.filter(isFields).filter(({ resource_type }) => /^(reserved|floating)_ip/.test(String(resource_type)));
  return grouped(about, ({ type }) => String(type)).map(([type, all]) => {
    const took = all
      .map(({ started_at, completed_at }) => Date.parse(String(completed_at)) - Date.parse(String(started_at)))
      .filter((ms) => !Number.isNaN(ms));
    const errored = all.filter(({ status }) => status === 'errored').length;
    const shares = { p50Ms: quantile(took, 0.5), p90Ms: quantile(took, 0.9), maxMs: quantile(took, 1) };
    return { type, ended: took.length, errored, unfinished: all.length - took.length, ...shares };
  });
}

/** How far the API's clock is ahead of this machine's (negative: behind), and the margin of error, ms. A date is truncated to the second, and was written
 *  between the request and the end of its response: all responses together give a smaller margin than each alone. Null when none has a date. */
export function clockOffset(heard: readonly Heard[]): { readonly aheadMs: number; readonly giveMs: number } | null {
  const dated = heard
    .map((each) => ({ ...each, date: Date.parse(each.reply.headers.date ?? '') }))
    .filter(({ date }) => !Number.isNaN(date));
  if (dated.length === 0) return null;
  const least = Math.max(...dated.map(({ date, at }) => date - at));
  const most = Math.min(...dated.map(({ date, at, tookMs }) => date + 1000 - (at - tookMs)));
  // If a clock was set meanwhile, `most` may be below `least`.
  return { aheadMs: Math.round((least + most) / 2), giveMs: Math.round(Math.abs(most - least) / 2) };
}

/** The current time of the API's clock, ms since the epoch. */
export const apiTime = (heard: readonly Heard[], now: number): number => now + (clockOffset(heard)?.aheadMs ?? 0);

const counts = (values: readonly string[]) => Object.fromEntries(grouped(values, String).map(([value, all]) => [value, all.length]));

const headerFigures = (heard: readonly Heard[]) => ({
  clock: clockOffset(heard),
  statuses: counts(heard.map(({ reply }) => String(reply.status))),
  contentTypes: counts(heard.map(({ reply }) => reply.headers['content-type'] ?? 'none')),
  requestIds: heard.filter(({ reply }) => reply.headers['x-request-id'] !== undefined).length,
  retryAfter: heard.flatMap(({ reply }) => reply.headers['retry-after'] ?? []),
});

/** The request limit in the last response, `resetInS` by the API's clock; null when missing. */
function requestLimit(heard: readonly Heard[]) {
  const { reply, at = 0 } = heard.at(-1) ?? {};
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => counted(reply?.headers[`ratelimit-${name}`]));
  if (limit === undefined || remaining === undefined || reset === undefined) return null;
  return { limit, remaining, resetInS: Math.round(reset - (Date.parse(reply?.headers.date ?? '') || at) / 1000) };
}
