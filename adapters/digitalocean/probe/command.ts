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
  /** Without the token. */
  readonly hide: (text: string) => string;
  /** Asks a person; null where there is none to be asked. */
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

/** Says what would be made, and why it is not: null when it is wanted. */
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
  // Where there is such a file, what stands in it may be there still.
  writeFileSync(asked.state, '', { flag: 'wx', mode: 0o600 });
  try {
    await makeAll(run, asked, ground);
  } catch (error) {
    // It is told.
    if (!(error instanceof ProviderError)) throw error;
  } finally {
    report.left = await takeBack(run);
    book.note({});
  }
}

/** @throws CannotAsk for a file of another account: what is not found there may be there still */
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

/** Without what may be behind the host, or before it: a user and a password. */
function apiOf({ url }: Account): string {
  return url === undefined ? OFFICIAL : (URL.parse(url)?.origin ?? 'a URL that is none');
}

/** Of another API not even the host, which may be nobody's business. */
const publicly = (api: string): string => (api === OFFICIAL ? api : 'another API');

/** Writes what was heard into a file of its own in the folder, which is made. */
function recordIn(folder: string, { heard }: Session, { version, account, clock, problem, hide }: Surroundings): void {
  const file = join(folder, `exchanges-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '')}.json`);
  try {
    mkdirSync(folder, { recursive: true });
    // A part of a token may look like an id: what is left of it then would be found no more.
    const bare = heard.map((each) => ({ ...each, reply: { ...each.reply, text: hide(each.reply.text) } }));
    const recording = recordingOf(bare, { version, api: publicly(apiOf(account)) });
    writeFileSync(file, hide(`${JSON.stringify(recording, null, 1)}\n`), { flag: 'wx' });
    problem(`recorded in ${file}`);
  } catch (error) {
    problem(`nothing was recorded: ${messageOf(error)}`);
  }
}

/** Without addresses, ids and names, nor the token, which is hidden before a part of it is taken for one of these. */
function fitToSend(report: Report, { zone, firewall, droplets, state }: ProbeOptions, { hide }: Surroundings): Report {
  const redactor = new Redactor();
  redactor.learn([...(droplets ?? [])], [zone ?? [], firewall ?? [], state].flat());
  const plain = JSON.parse(JSON.stringify(report), (_, each) => (typeof each === 'string' ? redactor.text(hide(each)) : each));
  return { ...plain, version: report.version, api: publicly(report.api), at: report.at };
}
