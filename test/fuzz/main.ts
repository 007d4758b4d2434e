import { parseArgs } from 'node:util';
import { buildHere } from '../../bench/build.ts';
import { attack } from './attack.ts';
import { endsLine, mib, probeLines } from './figures.ts';
import { fuzz, harmOf, type Report, shrunk } from './fuzz.ts';
import { PARTS, spoilPeers } from './peers/peers.ts';
import { openPeers, type PeersOptions } from './peers/world.ts';
import { openAttacked } from './world.ts';

const HELP = `Usage: npm run fuzz -- [--peers] [--seed S] [--requests N | --minutes M]

Sends garbage over HTTP and WebSocket to everything that the operator listens on, compiled and started as in its image.
Exit code 1 when it ends, prints what is no log line, logs an error, or leaves a probe unanswered; what did it is
printed, as little of it as does it again. Beside the times of the probes stand those of an idle process, which are the
machine's own. An even seed has the dashboards and /metrics ask for tokens.

--peers turns it round: for M minutes (default 1) the API server and DigitalOcean answer it with garbage, and others write
under its keys in Redis. Exit code 1 besides when it follows a redirect, or does not move an address again afterwards.`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    requests: { type: 'string' },
    minutes: { type: 'string' },
    peers: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const print = (...lines: readonly string[]): void => console.log(lines.join('\n'));

const answerLines = (answers: ReadonlyMap<string, number>): readonly string[] =>
  [...answers].sort().map(([what, count]) => `  ${what.padEnd(24)}${count}`);

async function mainOfPeers(seed: number, how: PeersOptions['program']): Promise<number> {
  const peers = await openPeers({ seed, program: how });
  const report = await spoilPeers(peers, { seconds: 60 * Number(values.minutes ?? 1), part: PARTS });
  const { answers, said, memory, probes, recoveredMs } = report;
  print(
    ...answerLines(answers),
    `  it said: ${[...said].map(([what, count]) => `${count} × ${what}`).join('; ')}`,
    `memory ${mib(memory.before)} -> ${mib(memory.after)}, at most ${mib(memory.most)}`,
    ...probeLines(probes),
    endsLine(peers.operator),
    recoveredMs === null ? 'not served again' : `served again after ${recoveredMs.toFixed(0)} ms`,
  );
  if (report.harm !== null)
    console.log(
      `HARM: ${report.harm}\n${[...peers.operator.log.slice(-20).map((line) => JSON.stringify(line)), ...peers.api.lately.slice(-10), ...peers.cloud.lately.slice(-10)].join('\n')}`,
    );
  await peers.close();
  return report.harm === null && isAnswered(report) ? 0 : 1;
}

const isAnswered = ({ probes }: Pick<Report, 'probes'>): boolean => probes.every(({ probe }) => probe !== null);

async function main(): Promise<number> {
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  const minutes = Number(values.minutes ?? Number.POSITIVE_INFINITY);
  const requests = Number(values.requests ?? (values.minutes === undefined ? 100_000 : Number.POSITIVE_INFINITY));
  const { entry, nodeFlags } = await buildHere();
  const how = { program: { node: process.execPath, entry, nodeFlags, knows: () => true }, hasToken: seed % 2 === 0 };
  console.log(`seed ${seed}`);
  if (values.peers) return mainOfPeers(seed, how.program);
  const attacked = await openAttacked(how);
  const report = await fuzz(attacked, { seed, requests, minutes });
  const { answers, memory, probes } = report;
  print(
    `${report.requests} requests in ${report.seconds.toFixed(0)} s`,
    ...answerLines(answers),
    `memory ${mib(memory.before)} -> ${mib(memory.after)}`,
    ...probeLines(probes),
    endsLine(attacked.operator),
  );
  await attacked.close();
  if (report.harm === null) return isAnswered(report) ? 0 : 1;
  console.log(`HARM: ${report.harm.what}`);
  const least = await shrunk(report.harm.after, async (attempts) => {
    const again = await openAttacked(how);
    await Promise.all(attempts.map((attempt) => attack(again.urls[attempt.to], attempt)));
    const harm = harmOf(again);
    await again.close();
    return harm !== null;
  });
  console.log(least === null ? 'not harmed again by what was sent last' : JSON.stringify(least, null, 2));
  return 1;
}

process.exitCode = await main();
