import { cordon } from '../../simulator/kubernetes/cluster.ts';
import { type Greeter, type Prober, startGreeter, startProber, type Try } from '../support/prober.ts';
import { FIREWALL, type Routed } from './routed.ts';
import { NODE_PORT } from './routed-objects.ts';

/** Programs listen on it on every node, and no Service names it. */
export const CLOSED_PORT = 30_443;

/** The nodes of a scenario with a program behind each port that tells the node's name, and whoever connects to an address again and again. */
export interface Reach {
  /** Connects to a port of the address from now until the end of the scenario. */
  probe(address: string, port?: number): Promise<Prober>;
  /** Resolves once the node answered twenty more connections. */
  answered(prober: Prober, node: string): Promise<void>;
  /** Nobody listens on the node any more, as when its machine dies. */
  silence(node: string): void;
  cordon(node: string): Promise<void>;
  /** Opens a port of the firewall by hand, as a person does. */
  openByHand(port: number): Promise<void>;
  close(): Promise<void>;
}

export async function openReach({ stage }: Routed, nodes: readonly string[]): Promise<Reach> {
  const { cloud } = stage;
  const greeters: Greeter[] = [];
  const probers: Prober[] = [];
  const dropletOf = (node: string): number => [...cloud.state.droplets.values()].find(({ name }) => name === node)?.id ?? -1;
  // A droplet that no firewall knows takes every connection: that nodes do not is what the platform sees to.
  await ask(cloud.url, '', { name: 'nodes', inbound_rules: [ruleFor('22')], droplet_ids: nodes.map(dropletOf) });
  for (const node of nodes) {
    const greeter = await startGreeter(node);
    greeters.push(greeter);
    for (const port of [NODE_PORT, CLOSED_PORT]) cloud.network.listeners.set(dropletOf(node), port, greeter.port);
  }
  return {
    probe: async (address, port = NODE_PORT) => {
      const prober = startProber(await cloud.network.endpoint({ address, port }));
      probers.push(prober);
      return prober;
    },
    answered: (prober, node) => {
      const since = prober.tries.length;
      return stage.until(`${node} answers`, () => prober.tries.slice(since).filter(({ by }) => by === node).length >= 20);
    },
    silence: (node) => void [NODE_PORT, CLOSED_PORT].map((port) => cloud.network.listeners.remove(dropletOf(node), port)),
    cordon: async (node) => void (await cordon(stage.target.client, node, true)),
    openByHand: (port) => {
      const id = [...cloud.state.firewalls.values()].find(({ name }) => name === FIREWALL)?.id ?? '';
      return ask(cloud.url, `/${id}/rules`, { inbound_rules: [ruleFor(String(port))] });
    },
    close: async () => {
      await Promise.all(probers.map((prober) => prober.stop()));
      await Promise.all(greeters.map((greeter) => greeter.close()));
    },
  };
}

const ruleFor = (ports: string) => ({ protocol: 'tcp', ports, sources: { addresses: ['0.0.0.0/0', '::/0'] } });

async function ask(url: string, path: string, body: object): Promise<void> {
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' };
  const reply = await fetch(`${url}/v2/firewalls${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`POST /v2/firewalls${path}: ${reply.status} ${await reply.text()}`);
}

/** From when to when the address was locked by assigns, ms since the epoch. */
export const transitsOf = ({ stage }: Routed, address: string): readonly { readonly since: number; readonly until: number }[] =>
  [...stage.cloud.state.actions.values()]
    .filter(({ ip, type }) => ip === address && type === 'assign_ip')
    .map(({ startedAt, completedAt }) => ({ since: startedAt, until: completedAt ?? Number.POSITIVE_INFINITY }));

/** The tries without an answer: those that overlap with a transit may be due to it, of the others it is said when they were. */
export function failures(tries: readonly Try[], transits: ReturnType<typeof transitsOf>) {
  const failed = tries.filter(({ outcome }) => outcome !== 'answered');
  const isIn = ({ startedAt, endedAt }: Try) => transits.some(({ since, until }) => startedAt <= until && endedAt >= since);
  const [inTransit, others] = [failed.filter(isIn), failed.filter((one) => !isIn(one))];
  const last = Math.max(...transits.map(({ until }) => until));
  return {
    inTransit: inTransit.length,
    before: others.filter(({ endedAt }) => endedAt < last).length,
    after: others.filter(({ startedAt }) => startedAt > last).length,
  };
}
