import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProbeOptions } from '../../../actors/ports/account-probe.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import { providerIDOf } from '../read.ts';
import { look, mostReads } from './look.ts';
import { Redactor, recordingOf } from './recording.ts';
import { type Report, reportText } from './report.ts';
import { type Account, CannotAsk, messageOf, openSession, READ, type Session } from './session.ts';
import { Book, readState } from './state.ts';
import { groundFor, makeAll, takeBack, type WriteWish } from './write.ts';

export interface Surroundings {
  readonly account: Account;
  readonly version: string;
  readonly clock: Clock;
  readonly out: (text: string) => void;
  readonly problem: (text: string) => void;
  /** Redacts the token. */
  readonly hide: (text: string) => string;
  /** Asks the user for confirmation; null without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  readonly isStopping: () => boolean;
  /** What an address costs while it is on no Droplet, as in `5 USD a month`. */
  readonly price: string;
}

const OFFICIAL = 'https://api.digitalocean.com';

/** `routedip-operator probe`. Resolves with the exit code. */
export async function probe(asked: ProbeOptions, around: Surroundings): Promise<0 | 1 | 2 | 3> {
  const { account, version, clock, problem } = around;
  const refusal = isWriteWish(asked) && (await refusalOf(asked, around));
  if (refusal) return refusal;
  const session = openSession(account, clock, around.isStopping);
  const report: Report = {
    ...{ probe: 1, version, api: apiOf(account), at: new Date(clock.now()).toISOString() },
    ...{ look: null, steps: asked.write || asked.clean ? [] : null, differences: [], left: [], skipped: [] },
  };
  try {
    if (asked.clean === undefined) await lookAndWrite(session, asked, report, problem);
    else await cleanUp(session, asked.clean, asked.wait, report);
  } catch (error) {
    const { steps, left } = report;
    const fate = steps?.length && left.length === 0 ? ['what was made was taken back'] : left.map((each) => `still there: ${each}`);
    problem([`cannot go on: ${messageOf(error)}`, ...fate].join('\n'));
    return 1;
  } finally {
    session.provider.close();
    session.layer.close();
    if (asked.record !== undefined) recordIn(asked.record, session, around);
  }
  around.out(asked.json ? `${JSON.stringify(fitToSend(report, asked, around), null, 2)}\n` : reportText(report));
  return report.differences.length + report.left.length === 0 ? 0 : 3;
}

const isWriteWish = (asked: ProbeOptions): asked is WriteWish => asked.write && !!asked.droplets && asked.zone !== undefined;

/** Prints what would be created. Returns the exit code of a refusal; null when confirmed. */
async function refusalOf(asked: WriteWish, { problem, confirm, price }: Surroundings): Promise<1 | 2 | null> {
  const { droplets, zone, firewall, state, yes } = asked;
  problem(
    [
      'This makes, in the account of the token:',
      '  - a reserved IPv4 address in the region of two Droplets that hold none: it is',
      `    assigned to ${droplets[0]}, moved to ${droplets[1]}, unassigned and deleted`,
      `  - an A record routedip-probe-… in the zone ${zone}: it is deleted`,
      firewall === undefined
        ? '  - no rule in a firewall, since no --firewall is named'
        : `  - a rule in the firewall ${firewall}, for a port above 49151 and an address\n    that nobody has: it is removed`,
      `An address costs ${price} while it is on no Droplet, by the hour: a cent`,
      'or so. What is made stands in a file until it is taken back. If this is cut off:',
      `  routedip-operator probe --clean ${state}`,
    ].join('\n'),
  );
  if (existsSync(state)) {
    problem(`${state} is there already: take back what stands in it by --clean, or name another file by --state`);
    return 1;
  }
  if (yes || (await confirm?.('Make all this? Type yes: '))) return null;
  problem(confirm ? 'nothing was made' : 'there is no terminal to ask on: give --yes');
  return confirm ? 1 : 2;
}

async function lookAndWrite(session: Session, asked: ProbeOptions, report: Report, problem: Surroundings['problem']): Promise<void> {
  problem(`asks ${report.api}: up to ${mostReads(asked)} reads, ${asked.reads} of them for the latency`);
  report.look = await look(session, asked, report.differences);
  if (!isWriteWish(asked)) return;
  const ground = await groundFor(session, asked, report.look.limits);
  report.differences.push(...ground.problems.map((why) => `nothing was made: ${why}`));
  if (ground.problems.length > 0) return;
  if (asked.firewall === undefined) report.skipped = ['the firewall rule, since no --firewall is named'];
  const about = { probe: 1, api: report.api, droplets: asked.droplets, region: ground.region } as const;
  const book = new Book(asked.state, { ...about, address: null, record: null, rule: null });
  const run = { session, book, waitMs: asked.wait, report };
  // Fails if the file exists: its resources may still exist.
  writeFileSync(asked.state, '', { flag: 'wx', mode: 0o600 });
  try {
    await makeAll(run, asked, ground);
  } catch (error) {
    // Already reported as a difference.
    if (!(error instanceof ProviderError)) throw error;
  } finally {
    report.left = await takeBack(run);
    book.note({});
  }
}

/** @throws CannotAsk for a file of another account: resources that are not found may still exist there */
async function cleanUp(session: Session, file: string, waitMs: number, report: Report): Promise<void> {
  const state = readState(file);
  if (state === null) {
    report.skipped = ['everything: nothing had been made yet'];
    for (const each of [`${file}.new`, file]) rmSync(each, { force: true });
    return;
  }
  if (state.api !== report.api) throw new CannotAsk(`${file} is about ${state.api}, and this is ${report.api}`);
  const found: string[] = [];
  for (const id of state.droplets) found.push(await session.provider.findNode(providerIDOf(id), READ));
  if (found.every((each) => each === 'gone'))
    throw new CannotAsk(`${file} is about the Droplets ${state.droplets.join(' and ')}, and neither is in the account of this token`);
  const book = new Book(file, state);
  report.left = await takeBack({ session, book, waitMs, report });
  book.note({});
}

/** Only the origin of the URL: user, password and path are removed. */
function apiOf({ url }: Account): string {
  return url === undefined ? OFFICIAL : (URL.parse(url)?.origin ?? 'a URL that is none');
}

/** For another API not even the host, which may be confidential. */
const publicly = (api: string): string => (api === OFFICIAL ? api : 'another API');

/** Writes the exchanges to a new file in the folder, which is created if needed. */
function recordIn(folder: string, { heard }: Session, { version, account, clock, problem, hide }: Surroundings): void {
  const file = join(folder, `exchanges-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '')}.json`);
  try {
    mkdirSync(folder, { recursive: true });
    // The token is redacted first: if a part of it were replaced as an id, the rest would no longer be recognized.
    const bare = heard.map((each) => ({ ...each, reply: { ...each.reply, text: hide(each.reply.text) } }));
    const recording = recordingOf(bare, { version, api: publicly(apiOf(account)) });
    writeFileSync(file, hide(`${JSON.stringify(recording, null, 1)}\n`), { flag: 'wx' });
    problem(`recorded in ${file}`);
  } catch (error) {
    problem(`nothing was recorded: ${messageOf(error)}`);
  }
}

/** Without addresses, ids and names, and without the token, which is redacted before a part of it can be mistaken for one of these. */
function fitToSend(report: Report, { zone, firewall, droplets, state }: ProbeOptions, { hide }: Surroundings): Report {
  const redactor = new Redactor();
  redactor.learn([...(droplets ?? [])], [zone ?? [], firewall ?? [], state].flat());
  const plain = JSON.parse(JSON.stringify(report), (_, each) => (typeof each === 'string' ? redactor.text(hide(each)) : each));
  return { ...plain, version: report.version, api: publicly(report.api), at: report.at };
}
