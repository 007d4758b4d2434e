import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ProbeOptions } from '../../../actors/ports/account-probe.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import { probe, type Surroundings } from '../../../adapters/digitalocean/probe/command.ts';
import type { Recording } from '../../../adapters/digitalocean/probe/recording.ts';
import type { Report } from '../../../adapters/digitalocean/probe/report.ts';
import { redaction } from '../../../adapters/telemetry/redaction.ts';
import {
  type DigitalOceanSimulator,
  type DigitalOceanOptions as SimulatorOptions,
  startDigitalOcean,
} from '../../../simulator/digitalocean/server.ts';

export const TOKEN = 'dop_v1_0123456789abcdef0123456789abcdef';
export const ZONE = 'shop.zqzone.net';
export const DROPLETS = [81_001_001, 81_001_002] as const;
export const HELD = '45.55.96.47';

export interface Stage {
  readonly simulator: DigitalOceanSimulator;
  /** A folder for what is written. */
  readonly folder: string;
  /** The file of `--state` in it. */
  readonly state: string;
}

/** What a test does in the end. Of those that run at once each has its own. */
export type Finished = typeof onTestFinished;

/** An account with three Droplets, one of which holds an address; with a zone, a tag and a firewall. All names begin with `zq`. */
export async function stage(options: SimulatorOptions = {}, finished: Finished = onTestFinished): Promise<Stage> {
  const simulator = await startDigitalOcean({ actionMs: 20, firewallMs: 20, token: TOKEN, ...options });
  const folder = mkdtempSync(join(tmpdir(), 'probe-'));
  finished(async () => {
    rmSync(folder, { recursive: true });
    await simulator.close();
  });
  for (const id of DROPLETS) simulator.addDroplet({ id, name: `zqdroplet-${id}`, region: 'nyc3', tags: ['zqtag'] });
  const { id } = simulator.addDroplet({ id: 81_001_003, name: 'zqholder', region: 'nyc3', ipv6: true });
  simulator.addReservedIP({ ip: HELD, region: 'nyc3', dropletId: id });
  const post = (path: string, body: unknown) =>
    fetch(`${simulator.url}/v2${path}`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body: JSON.stringify(body) });
  await post('/domains', { name: ZONE });
  await post(`/domains/${ZONE}/records`, { type: 'TXT', name: 'zqtext', data: 'zqverification=7f3a' });
  const inbound_rules = [{ protocol: 'tcp', ports: '22', sources: { addresses: ['45.55.0.0/16'] } }];
  await post('/firewalls', { name: 'zqfirewall', tags: ['zqtag'], inbound_rules });
  simulator.calls.clear();
  return { simulator, folder, state: join(folder, 'state.json') };
}

/** Time passes ten times as fast in pauses, by which no test is to wait. */
const FAST: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * 10,
  after: (ms, run) => {
    const timer = setTimeout(run, ms / 10);
    return () => clearTimeout(timer);
  },
};

const DEFAULTS: Omit<ProbeOptions, 'state'> = { json: false, reads: 3, write: false, yes: false, wait: 10_000 };
export const WRITES: Partial<ProbeOptions> = { write: true, yes: true, droplets: DROPLETS, zone: ZONE, firewall: 'zqfirewall' };

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly problems: string;
  /** What it printed, where JSON was asked for. */
  readonly report: () => Report;
}

/** `routedip-operator probe`, but for its process. */
export async function run(
  { simulator, state }: Stage,
  asked: Partial<ProbeOptions> = {},
  around: Partial<Surroundings> = {},
): Promise<Ran> {
  let [out, problems] = ['', ''];
  const code = await probe(
    { ...DEFAULTS, state, ...asked },
    {
      account: { token: TOKEN, userAgent: 'probe', url: simulator.url },
      version: '0.0.0',
      clock: FAST,
      out: (text) => {
        out += text;
      },
      problem: (text) => {
        problems += `${text}\n`;
      },
      hide: redaction([{ text: TOKEN, what: 'token' }]).hide,
      confirm: null,
      isStopping: () => false,
      price: '5 USD a month',
      ...around,
    },
  );
  return { code, out, problems, report: () => JSON.parse(out) as Report };
}

/** What stands in the account besides what `stage` has put there: nothing, once all is taken back. */
export function leftIn({ simulator, state }: Stage): readonly string[] {
  const { reservedIPs, domains, firewalls } = simulator.state;
  const records = [...(domains.get(ZONE)?.records.values() ?? [])].filter(({ name }) => name.startsWith('routedip-probe'));
  const rules = [...firewalls.values()].flatMap(({ inboundRules }) => inboundRules).filter(({ ports }) => ports !== '22');
  return [
    ...[...reservedIPs.keys()].filter((ip) => ip !== HELD),
    ...records.map(({ name }) => name),
    ...rules.map(({ ports }) => `rule ${ports}`),
    ...[state, `${state}.new`].filter(existsSync),
  ];
}

/** The one recording in a folder. */
export function recordingIn(folder: string): { readonly recording: Recording; readonly text: string } {
  const [file = ''] = readdirSync(folder);
  const text = readFileSync(join(folder, file), 'utf8');
  return { recording: JSON.parse(text) as Recording, text };
}
