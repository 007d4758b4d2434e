import { createInterface } from 'node:readline';
import type { ProbeOptions } from '../actors/ports/account-probe.ts';
import { tokenTrouble } from '../adapters/accounts/credentials.ts';
import { environmentOf } from '../adapters/cli/options.ts';
import { probe as run } from '../adapters/digitalocean/probe/command.ts';
import { systemClock } from '../adapters/system/clock.ts';
import { redaction } from '../adapters/telemetry/redaction.ts';
import { visible } from '../machines/model/visible.ts';
import { PRICES } from '../machines/status/prices.ts';
import { secretsIn } from './secrets.ts';
import { stopSignal } from './signals.ts';
import type { Terminal } from './terminal.ts';

/** `routedip-operator probe`. Resolves with the exit code. */
export async function probe(options: ProbeOptions, { out, problem }: Terminal, version: string): Promise<number> {
  const environment = environmentOf(process.env);
  const { digitaloceanToken: token, digitaloceanUrl: url, digitaloceanUserAgent } = environment;
  const { hide } = redaction(secretsIn(environment));
  const say = (text: string): void => problem(text.split('\n').map(visible).map(hide).join('\n'));
  const trouble = token === null ? 'not set' : tokenTrouble(token);
  if (token === null || trouble !== null) {
    say(`cannot ask: DIGITALOCEAN_ACCESS_TOKEN is ${token === null ? trouble : `no token but a text ${trouble}`}`);
    return 1;
  }
  let isStopping = false;
  const stop = (message: string): void => {
    isStopping = true;
    say(`${message}; what was made is taken back`);
  };
  const quiet = { debug: () => undefined, warn: () => undefined, error: () => undefined };
  // Closing the terminal sends SIGHUP.
  const stopped = stopSignal({ ...quiet, info: stop }, ['SIGHUP']);
  const { currency = '', IPv4 } = PRICES.digitalocean ?? {};
  try {
    return await run(options, {
      account: { token, userAgent: digitaloceanUserAgent ?? `routedip-operator/${version} (probe)`, url: url ?? undefined },
      version,
      clock: systemClock(),
      out: (text) => out(hide(text)),
      problem: say,
      hide,
      confirm: process.stdin.isTTY && process.stderr.isTTY ? confirm : null,
      isStopping: () => isStopping,
      price: `${IPv4?.unassigned} ${currency} a month`,
    });
  } finally {
    stopped.forget();
  }
}

/** False also when the input ends or the question is cancelled. */
function confirm(question: string): Promise<boolean> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise<boolean>((resolve) => {
    reader.once('close', () => resolve(false));
    reader.question(question, (answer) => resolve(answer.trim() === 'yes'));
  }).finally(() => reader.close());
}
