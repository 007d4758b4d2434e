import type { ProbeOptions } from '../../../actors/ports/account-probe.ts';
import type { ProviderError } from '../../../actors/ports/errors.ts';
import { type Address, type Fields, fieldsOf, isFields, type ProviderID } from '../../../machines/model/types.ts';
import type { Heard } from '../../http/exchange.ts';
import { counted, fields as fieldsIn } from '../../http/read.ts';
import { LISTS, type List, NOBODYS, SCOPES, valueAt } from './expected.ts';
import { ask, attempt, CannotAsk, messageOf, READ, type Session, unlessGone } from './session.ts';

type Wish = Pick<ProbeOptions, 'reads' | 'zone' | 'firewall'>;

/** The most that the API gives, and what the adapter asks for. */
const PER_PAGE = 200;
/** Of each list no more is read. */
const MOST_PAGES = 3;
/** What the operator asks of the API in an hour, unless it is told otherwise. */
const REQUESTS_PER_HOUR = 5000;
/** The account; and of the adapter a list of each family, an address and a Droplet that nobody has, the prefixes for the one, a zone and a firewall. */
const OTHERS = 8;

/** How many requests a look takes at most, unless the adapter meets lists of more than one page. */
export const mostReads = ({ reads }: Pick<Wish, 'reads'>): number => LISTS.length * MOST_PAGES + OTHERS + reads;

/** What was read. `has` is null where no answer tells, a limit where it cannot be read; of a list that `isCut` there is more. */
export type Look = Awaited<ReturnType<typeof look>>;

/** Looks at the account, and changes nothing. `differences` takes what is otherwise than expected. @throws CannotAsk */
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

/** The first pages of a list, and what is wrong with them. @throws CannotAsk also where nobody has answered anything yet */
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

/** Null for an answer that is no list of this key; `total` where it says none, and `hasNext` where it says nothing of pages. */
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

/** Of reserved IPv4 addresses; null where the account is not shown, which the operator does not need. */
async function addressLimit(session: Session, differences: string[]): Promise<number | null> {
  const { value, error } = await ask(session, '/account');
  const { floating_ip_limit: limit } = fieldsOf(fieldsOf(value).account);
  if (typeof limit === 'number') return limit;
  if (error?.kind !== 'Unauthorized') differences.push(`/account: ${error?.message ?? 'the answer has no floating_ip_limit'}`);
  return null;
}

/** What differs of that which the operator itself would read, as it would. */
async function byAdapter(session: Session, { zone, firewall }: Wish, differences: string[]): Promise<void> {
  const { provider } = session;
  const [nobody, nowhere] = [NOBODYS.address as Address, NOBODYS.droplet as ProviderID];
  /** Each answers a text where something else was read than should be. */
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

/** Of reads of one item, one after the other. */
async function latencies(session: Session, reads: number) {
  const first = session.heard.length;
  for (let read = 0; read < reads; read += 1) await ask(session, '/reserved_ips?page=1&per_page=1');
  const took = session.heard.slice(first).map(({ tookMs }) => tookMs);
  return { reads: took.length, p50Ms: quantile(took, 0.5), p90Ms: quantile(took, 0.9), p99Ms: quantile(took, 0.99) };
}

// ---------------------------------------------------------------- figures

/** The smallest value that `share` of all are not above (nearest rank), to a tenth; null of no values. */
function quantile(values: readonly number[], share: number): number | null {
  const value = values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)];
  return value === undefined ? null : Math.round(value * 10) / 10;
}

const grouped = <T>(values: readonly T[], nameOf: (value: T) => string) =>
  [...Map.groupBy(values, nameOf)].sort(([a], [b]) => (a < b ? -1 : 1));

/** How long the actions on addresses among these took by type, ms; they are told in whole seconds. */
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

/** How far the clock of the API is ahead of this machine's (behind for less than 0), and by how much that may be wrong, ms. A date is cut to the second, and was
 *  written between the request and the end of its answer: all answers together leave room for less than each alone. Null where none bears a date. */
export function clockOffset(heard: readonly Heard[]): { readonly aheadMs: number; readonly giveMs: number } | null {
  const dated = heard
    .map((each) => ({ ...each, date: Date.parse(each.reply.headers.date ?? '') }))
    .filter(({ date }) => !Number.isNaN(date));
  if (dated.length === 0) return null;
  const least = Math.max(...dated.map(({ date, at }) => date - at));
  const most = Math.min(...dated.map(({ date, at, tookMs }) => date + 1000 - (at - tookMs)));
  // A clock that was set meanwhile leaves no room at all.
  return { aheadMs: Math.round((least + most) / 2), giveMs: Math.round(Math.abs(most - least) / 2) };
}

/** What the clock of the API shows now, ms since the epoch. */
export const apiTime = (heard: readonly Heard[], now: number): number => now + (clockOffset(heard)?.aheadMs ?? 0);

const counts = (values: readonly string[]) => Object.fromEntries(grouped(values, String).map(([value, all]) => [value, all.length]));

const headerFigures = (heard: readonly Heard[]) => ({
  clock: clockOffset(heard),
  statuses: counts(heard.map(({ reply }) => String(reply.status))),
  contentTypes: counts(heard.map(({ reply }) => reply.headers['content-type'] ?? 'none')),
  requestIds: heard.filter(({ reply }) => reply.headers['x-request-id'] !== undefined).length,
  retryAfter: heard.flatMap(({ reply }) => reply.headers['retry-after'] ?? []),
});

/** What the last answer says of the limit of requests, `resetInS` by the clock of the API; null where it says nothing. */
function requestLimit(heard: readonly Heard[]) {
  const { reply, at = 0 } = heard.at(-1) ?? {};
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => counted(reply?.headers[`ratelimit-${name}`]));
  if (limit === undefined || remaining === undefined || reset === undefined) return null;
  return { limit, remaining, resetInS: Math.round(reset - (Date.parse(reply?.headers.date ?? '') || at) / 1000) };
}
