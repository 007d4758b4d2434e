import { randomBytes, randomInt } from 'node:crypto';
import type { ProbeOptions } from '../../../actors/ports/account-probe.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import { portText } from '../../../machines/model/port.ts';
import { type Address, fieldsOf, isFields, type Port, type ProviderID } from '../../../machines/model/types.ts';
import { type Heard, isWrite } from '../../http/exchange.ts';
import { parsed } from '../../http/read.ts';
import { STATE_OF_ACTION } from '../addresses.ts';
import { observedDroplet, providerIDOf } from '../read.ts';
import { NOBODYS } from './expected.ts';
import { apiTime, type Look } from './look.ts';
import type { Report } from './report.ts';
import { ask, attempt, insist, messageOf, pause, READ, read, type Session, unlessGone, WRITE } from './session.ts';
import type { Book, State } from './state.ts';

export type WriteWish = ProbeOptions & Required<Pick<ProbeOptions, 'droplets' | 'zone'>>;

/** Checks the preconditions of the writes, and returns what they need. @throws CannotAsk */
export async function groundFor(session: Session, { droplets, zone, firewall }: WriteWish, { addresses }: Look['limits']) {
  const { provider } = session;
  const { limit, present } = addresses;
  const problems = limit !== null && (present ?? 0) >= limit ? [`the account has all ${limit} addresses that it may have`] : [];
  const needed = async <T>(run: () => Promise<T>): Promise<T | null> => {
    const { value, error } = await attempt(session, run);
    if (error) problems.push(error.message);
    return value;
  };
  const regions = new Set<string>();
  for (const id of droplets) {
    const droplet = await needed(async () => observedDroplet((await read(session, `/droplets/${id}`)).droplet));
    if (droplet) regions.add(droplet.region);
    if (droplet && droplet.publicAddresses.length > 1) problems.push(`Droplet ${id} holds a reserved IP: name one that holds none`);
  }
  if (regions.size > 1) problems.push(`the Droplets are in ${[...regions].join(' and ')}: name two of one region`);
  const known = (await needed(() => provider.listRoutedIPs({ ...READ, family: 4 })))?.map(({ address }) => address) ?? [];
  await needed(() => provider.listDNSRecords(zone, READ));
  const rule = firewall === undefined ? null : await needed(() => ruleFor(session, firewall));
  return { problems, region: [...regions][0] ?? '', known, rule };
}

/** A rule that a firewall does not have yet. @throws ProviderError for a firewall that does not exist, or is full */
async function ruleFor({ provider }: Session, name: string) {
  const firewall = await provider.findRoutedIPFirewall(name, READ);
  if (firewall === null) throw new ProviderError('NotFound', `there is no firewall ${name} to add a rule to`);
  if (firewall.freeRules === 0) throw new ProviderError('Invalid', `the firewall ${name} takes no more rules`);
  let port: number;
  do port = randomInt(49_152, 65_536);
  while (firewall.ports.includes(portText(ruleOf(port))));
  return { firewall: firewall.id, port };
}

/** A rule that admits no real client. */
const ruleOf = (port: number): Port => ({ port, protocol: 'TCP', sources: [`${NOBODYS.address}/32`] });

/** A run that writes. Steps and deviations are added to the report. */
export interface Run {
  readonly session: Session;
  readonly book: Book;
  /** How long to wait for the effect of each write, ms. */
  readonly waitMs: number;
  readonly report: Report;
  /** Retries transient errors. */
  readonly insists?: true;
}

/** Performs one write and measures it. @throws its ProviderError, which is also reported as a difference; CannotAsk */
async function done(
  { session, book, waitMs, report, insists }: Run,
  [step, expected]: readonly [step: string, expected: string],
  send: () => Promise<unknown>,
  isShown: () => Promise<boolean>,
): Promise<void> {
  const { heard, clock, provider } = session;
  const first = heard.length;
  const writes = () => heard.slice(first).filter(({ method }) => isWrite(method));
  let shownMs: number | null = null;
  const { error } = await attempt(session, async () => {
    await (insists ? insist(session, waitMs, send) : send());
    const sentAt = clock.monotonic();
    const { id } = actionIn(writes().at(-1));
    let state = id === undefined ? 'completed' : 'running';
    await insist(session, waitMs, async () => {
      if (state === 'running') state = await provider.actionState(book.made, String(id), READ);
      if (state === 'errored') throw new ProviderError('Invalid', 'its action ended in an error');
      return state !== 'running' && (await isShown());
    });
    shownMs = clock.monotonic() - sentAt;
  });
  const action = [...new Set(heard.slice(first).flatMap((each) => actionIn(each).status ?? []))].map(String);
  const statuses = writes().map(({ reply }) => reply.status);
  // Collapse repeated statuses.
  const answered = statuses.join(', ').replace(/\b(\d+)(?:, \1)+\b/g, (all, status) => `${status} (${all.split(', ').length} times)`);
  report.steps = [...(report.steps ?? []), { step, answered, action, acceptedMs: writes().at(-1)?.tookMs ?? null, shownMs }];
  for (const status of action)
    if (!STATE_OF_ACTION.has(status)) report.differences.push(`${step}: its action says ${status}, which the adapter does not know`);
  if (error) report.differences.push(`${step}: ${error.message}`);
  else if (!['', expected].includes(answered)) report.differences.push(`${step}: answered ${answered}, expected ${expected}`);
  if (error) throw error;
}

const actionIn = (heard: Heard | undefined) => fieldsOf(fieldsOf(parsed(heard?.reply.text ?? '')).action);

/** Creates everything in sequence. Created resources are recorded in the book. @throws ProviderError of the step that failed; CannotAsk */
export async function makeAll(run: Run, { droplets, zone }: WriteWish, ground: Awaited<ReturnType<typeof groundFor>>): Promise<void> {
  const { session, book } = run;
  const { provider } = session;
  const { region, known, rule } = ground;
  const create = async () => {
    book.note({ address: { known, askedAt: apiTime(session.heard, session.clock.now()) } });
    try {
      book.note({ address: { made: await provider.createRoutedIP(region, { purpose: 'create' }) } });
    } catch (error) {
      // Otherwise it may have been created, and is searched for later.
      if (error instanceof ProviderError && !error.unknownOutcome) book.note({ address: null });
      throw error;
    }
  };
  const assign = (step: string, to: ProviderID) =>
    done(run, [step, '201'], () => provider.assignRoutedIP(book.made, to, WRITE), isOn(run, to));
  await done(run, ['create an address', '202'], create, isOn(run, null));
  await assign('assign to the first', providerIDOf(droplets[0]));
  await assign('move to the second', providerIDOf(droplets[1]));
  const name = `routedip-probe-${randomBytes(4).toString('hex')}`;
  const record = { type: 'A', name, data: book.made, ttlSeconds: 60, proxied: false } as const;
  book.note({ record: { zone, name } });
  await done(run, ['create a DNS record', '201'], () => provider.createDNSRecord(zone, record, WRITE), isNamed(run, true));
  if (rule) {
    book.note({ rule });
    const open = () => provider.addRoutedIPFirewallPort(rule.firewall, [ruleOf(rule.port)], WRITE);
    await done(run, ['add a firewall rule', '204'], open, isOpen(run, true));
  }
  await unassign(run);
}

const unassign = (run: Run) =>
  done(run, ['unassign', '201'], () => run.session.provider.unassignRoutedIP(run.book.made, WRITE), isOn(run, null));

/** The created address; undefined when it does not exist. */
const found = ({ session, book }: Run) => session.provider.findRoutedIP(book.made, READ).catch(unlessGone);

/** Whether it is assigned to this Droplet or, for null, unassigned. */
const isOn = (run: Run, node: ProviderID | null) => async (): Promise<boolean> => {
  const address = await found(run);
  return address?.providerID === node && !address.locked;
};

/** Ids of the record in the book: at most one, unless another client uses the same name. */
async function records({ session, book }: Run): Promise<readonly string[]> {
  const { zone = '', name = '' } = book.state.record ?? {};
  const all = await session.provider.listDNSRecords(zone, READ).catch(unlessGone);
  return (all?.records ?? []).filter((record) => record.type === 'A' && record.name === name).map(({ id }) => id);
}

const isNamed = (run: Run, isWanted: boolean) => async () => (await records(run)).length > 0 === isWanted;

/** Whether the firewall shows the rule in the book, or no longer shows it. */
const isOpen =
  ({ session, book }: Run, isWanted: boolean) =>
  async (): Promise<boolean> => {
    const { firewall = '', port = 0 } = book.state.rule ?? {};
    const shown = await session.provider.findRoutedIPFirewall(firewall, READ);
    return shown === null ? !isWanted : !shown.pending && shown.ports.includes(portText(ruleOf(port))) === isWanted;
  };

/** Undoes everything in the book, even if some steps fail, and removes it from the state, not yet from the file. Returns what still exists, and why. */
export async function takeBack(asked: Run): Promise<readonly string[]> {
  // A user who interrupts the run wants the cleanup.
  const run: Run = { ...asked, session: { ...asked.session, isStopping: () => false }, insists: true };
  const { provider } = run.session;
  const { rule, record, address } = run.book.state;
  const close = (port: Port, firewall: string) => provider.deleteRoutedIPFirewallPort(firewall, [port], WRITE).catch(unlessGone);
  const remove = async (zone: string) => {
    for (const id of await records(run)) await provider.deleteDNSRecord(zone, id, WRITE);
  };
  const left: string[] = [];
  const back = async (gone: Partial<State>, what: string, undo: () => Promise<void>) => {
    try {
      await undo();
      run.book.state = { ...run.book.state, ...gone };
    } catch (error) {
      left.push(`${what}: ${messageOf(error)}`);
    }
  };
  if (rule)
    await back({ rule: null }, `the rule for TCP ${rule.port} in the firewall ${rule.firewall}`, () =>
      done(run, ['remove the rule', '204'], () => close(ruleOf(rule.port), rule.firewall), isOpen(run, false)),
    );
  if (record)
    await back({ record: null }, `the record ${record.name} in the zone ${record.zone}`, () =>
      done(run, ['delete the record', '204'], () => remove(record.zone), isNamed(run, false)),
    );
  if (address) await back({ address: null }, 'the address', () => deleted(run));
  return left;
}

/** Deletes the address in the book. @throws ProviderError when it still exists */
async function deleted(run: Run): Promise<void> {
  const { session, book, waitMs } = run;
  if (!book.made) {
    const { addresses, isSure } = await findingFor(run);
    const [address] = addresses;
    if (address === undefined) return;
    const which = `${addresses.join(' or ')} may have been made by this command, or by somebody else`;
    if (!isSure) throw new ProviderError('Invalid', `${which}: delete it by hand, then the state file`);
    book.state = { ...book.state, address: { made: address } };
  }
  const { seen } = await insist(session, waitMs, async () => {
    const seen = await found(run);
    return !seen?.locked && { seen };
  });
  if (seen === undefined) return;
  const { address, providerID } = seen;
  if (providerID !== null && !book.state.droplets.map(providerIDOf).includes(providerID))
    throw new ProviderError('NodeInUse', `${address} is on ${providerID}, where this command has not put it`);
  // Ignore failures: the address may be deletable while assigned.
  if (providerID !== null) await unassign(run).catch(() => undefined);
  const isGone = async () => (await found(run)) === undefined;
  await done(run, ['delete the address', '204'], () => session.provider.deleteRoutedIP(address, WRITE), isGone);
}

// ---------------------------------------------------------------- a creation in doubt

/** The API's times are truncated to the second, and its clock is known to half a second. */
const BLUR_MS = 2000;
/** A request is given up after 15 s: an address reserved later may be another client's. */
const SOON_MS = 20_000;
/** A creation that was sent takes effect within this time or never, ms. */
const LATE_MS = 60_000;

/**
 * Candidates for the address requested at `askedAt`: none, one that `isSure`, or several. It is sure if it is the only candidate and was reserved soon after. An
 * address reserved much later, or at an unknown time, is only possible, and of two candidates either may be another client's. Times in ms since the epoch;
 * `reservedAt` by address, null when unknown.
 */
export function findingOf(askedAt: number, reservedAt: ReadonlyMap<Address, number | null>) {
  const isWithin = (at: number, ms: number): boolean => at > askedAt - BLUR_MS && at < askedAt + ms + BLUR_MS;
  const possible = [...reservedAt].filter(([, at]) => at === null || isWithin(at, LATE_MS));
  const isSure = possible.length === 1 && possible.every(([, at]) => at !== null && isWithin(at, SOON_MS));
  return { addresses: possible.map(([address]) => address).sort(), isSure };
}

/** Searches once a late creation is no longer possible: new addresses of the region, on no Droplet. */
async function findingFor({ session, book, waitMs }: Run) {
  const { heard, clock, provider } = session;
  const { known, askedAt } = { known: [] as readonly Address[], askedAt: 0, ...book.state.address };
  const list = () => insist(session, waitMs, () => provider.listRoutedIPs({ ...READ, family: 4 }));
  // Its response shows the API's time.
  await list();
  const restMs = Math.min(askedAt + LATE_MS - apiTime(heard, clock.now()), LATE_MS, waitMs);
  if (restMs > 0) await pause(session, restMs);
  const reserved = new Map<Address, number | null>();
  for (const { address, region, providerID } of await list())
    if (region === book.state.region && providerID === null && !known.includes(address))
      reserved.set(address, await reservedAt(session, address));
  return findingOf(askedAt, reserved);
}

/** When its first action, the reservation, began, ms since the epoch. Null when unknown. */
async function reservedAt(session: Session, address: Address): Promise<number | null> {
  const { value } = await ask(session, `/reserved_ips/${address}/actions?page=1&per_page=200`);
  const { actions } = fieldsOf(value);
  const times = (Array.isArray(actions) ? actions : []).filter(isFields).map(({ started_at }) => Date.parse(String(started_at)));
  return times.length === 0 || times.some(Number.isNaN) ? null : Math.min(...times);
}
