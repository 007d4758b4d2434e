import { readFileSync } from 'node:fs';
import { registrationAt } from '../adapters/admission/support.ts';
import { openStage } from '../e2e/stage.ts';
import { openTarget } from '../e2e/target.ts';
import type { Operator, Program } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';
import { LISTENERS, type ListenerName, TOKEN } from './garbage.ts';

/** An operator with everything that can listen, and with work to do. */
export interface Attacked {
  readonly operator: Operator;
  readonly urls: Readonly<Record<ListenerName, string>>;
  /** Resident memory, bytes. */
  memory(): number;
  close(): Promise<void>;
}

interface How {
  /** Null: the bundle that tests run. */
  readonly program: (Program & { readonly nodeFlags: readonly string[] }) | null;
  readonly hasToken: boolean;
}

const SAID: Readonly<Record<ListenerName, RegExp>> = {
  telemetry: /^serves metrics/,
  dashboard: /^serves the dashboard/,
  inspector: /^serves the inspector/,
  journal: /^serves the journal/,
  webhook: /^serves the admission webhook/,
};

const FLAGS = [
  ...['--dashboard-bind-addr=127.0.0.1:0', '--inspect=127.0.0.1:0', '--journal-bind-addr=127.0.0.1:0', '--webhook-bind-addr=127.0.0.1:0'],
  ...['--admission=webhook', '--webhook-url=https://127.0.0.1:1'],
];

/** With a token the dashboards ask for it and /metrics asks for one of the cluster. */
export async function openAttacked({ program, hasToken }: How): Promise<Attacked> {
  const target = await openTarget();
  const stage = await openStage(target);
  const { ip: address } = stage.cloud.addReservedIP({ region: 'nyc3' });
  await stage.nodes('a', 'b');
  await stage.pool('ingress', {
    provider: 'digitalocean',
    region: 'nyc3',
    match: { nodeLabel: 'pool=work' },
    desiredIPs: 1,
    ips: [address],
  });
  target.simulator?.store.create(registrationAt('https://127.0.0.1:1'));
  const { nodeFlags = [], ...entry } = program ?? {};
  const operator = await stage.start({
    flags: [...FLAGS, ...(hasToken ? ['--metrics-auth=token-review'] : [])],
    env: hasToken ? { ROUTEDIP_DASHBOARD_TOKEN: TOKEN } : {},
    nodeFlags,
    ...('entry' in entry && { program: entry }),
  });
  await operator.ready();
  const urlOf = (name: ListenerName) => operator.log.find(({ msg }) => SAID[name].test(msg))?.url as string | undefined;
  await waitFor('everything listens', () => LISTENERS.every((name) => urlOf(name) !== undefined));
  return {
    operator,
    urls: Object.fromEntries(LISTENERS.map((name) => [name, urlOf(name)])) as Record<ListenerName, string>,
    memory: () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${operator.pid}/status`, 'utf8'))?.[1]) * 1_024,
    close: async () => {
      await stage.close();
      await target.close();
    },
  };
}
