import type { Call } from '../simulator/digitalocean/call-log.ts';
import { setNodeReady } from '../simulator/kubernetes/cluster.ts';
import type { Act } from './args.ts';
import type { Cast, Moment } from './cast.ts';
import { DemoFailure } from './failure.ts';
import type { Follower } from './follow.ts';
import { migrate } from './migrating.ts';
import { type Publication, publish } from './naming.ts';
import { type Part, type Routing, route } from './routing.ts';
import { serve } from './serving.ts';
import { CRDS_INSTALLED, installDefinitions, POOL_MANIFEST, populate, type Stage } from './stage.ts';
import { now, span } from './time.ts';
import type { AddressRow } from './view.ts';

export interface Failover {
  readonly address: string;
  readonly from: string;
  readonly to: string;
  readonly moments: readonly Moment[];
}

/** What the story came to. Of acts that were left out there is null. */
export interface Outcome {
  /** From the start of its process until /readyz says so, ms. */
  readonly readyMs: number;
  readonly pool: Pool | null;
  readonly failover: Failover | null;
  readonly publication: Publication | null;
  readonly routing: Routing | null;
  readonly serving: readonly Part[] | null;
}

interface Pool {
  readonly addresses: readonly string[];
  /** From the manifest until all addresses were active, ms. */
  readonly activeMs: number;
}

/** Wanted by the manifest that is applied. */
const WANTED = 3;

/** Plays the whole story. @throws DemoFailure as soon as something does not come about */
export async function play(cast: Cast): Promise<Outcome> {
  const { stage, screen } = cast;
  const [kubernetes, cloud, redis] = [stage.kubernetes.url, stage.cloud.url, stage.redisUrl].map((url) => URL.parse(url)?.host);
  screen.step(`simulated Kubernetes API at ${kubernetes}, simulated DigitalOcean API at ${cloud}, Redis at ${redis}`);
  const isShown = (act: Act) => cast.act === null || cast.act === act;
  const hasPool = isShown(1) || isShown(2);
  if (hasPool) {
    await populate(stage);
    screen.step('5 nodes serve the ingress; work-1 belongs to another node pool');
  }
  const readyMs = await startOperator(cast);
  const pool = hasPool ? await acquire(cast) : null;
  const failover = isShown(1) ? await failOver(cast) : null;
  const publication = isShown(2) ? await publish(cast) : null;
  if (pool) await verify(cast, pool);
  const routing = isShown(3) ? await route(cast) : null;
  const serving = isShown(4) ? [...(await serve(cast)), await migrate(cast)] : null;
  return { readyMs, pool, failover, publication, routing, serving };
}

async function failOver(cast: Cast): Promise<Failover> {
  await cast.screen.pause();
  const failover = await fail(cast);
  await cast.screen.pause();
  await comeBack(cast, failover.from);
  return failover;
}

async function startOperator({ stage, screen, until }: Cast): Promise<number> {
  const startedAt = now();
  const operator = stage.startOperator();
  screen.step(`the operator starts as process ${operator.pid}`);
  await installDefinitions(stage);
  screen.step(`the ${CRDS_INSTALLED.length} definitions in crds/ are installed`);
  await until('the operator is ready', async () => (await readiness(stage)).startsWith('ok') || null);
  const readyMs = now() - startedAt;
  screen.step(`the operator is ready, ${span(readyMs)} after its start`);
  return readyMs;
}

/** What /readyz says, on one line. */
export async function readiness({ operator }: Stage): Promise<string> {
  const url = operator?.served.telemetry;
  if (!url) return 'not listening yet';
  try {
    return (await (await fetch(`${url}/readyz`)).text()).trim().replaceAll('\n', '; ');
  } catch (error) {
    return `/readyz does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function acquire({ stage, screen, until, follower }: Cast): Promise<Pool> {
  const appliedAt = now();
  await stage.apply(POOL_MANIFEST);
  screen.step(`${POOL_MANIFEST} is applied: ${WANTED} addresses are wanted, none exists`);
  const published = await until(`${WANTED} addresses are created and listed in spec.ips`, () =>
    follower.view.published.length === WANTED ? follower.view.published : null,
  );
  screen.step(`created and listed in spec.ips: ${published.join(', ')}`);
  const rows = await until('all addresses are active', () => allActive(follower));
  await until('the nodes are annotated', () => rows.every(({ address, node }) => annotationOf(follower, node) === address) || null);
  const activeMs = Math.max(...rows.map(({ since }) => since)) - appliedAt;
  screen.step(`all are active, ${span(activeMs)} after the manifest`);
  return { addresses: published, activeMs };
}

function allActive({ view }: Follower): readonly AddressRow[] | null {
  return view.addresses.length === WANTED && view.addresses.every(({ state }) => state === 'active') ? view.addresses : null;
}

const annotationOf = ({ view }: Follower, node: string): string => view.nodes.find(({ name }) => name === node)?.annotation ?? '';

async function fail({ stage, screen, until, follower, seed }: Cast): Promise<Failover> {
  const { client, cloud } = stage;
  const holders = follower.view.addresses.toSorted((a, b) => (a.node < b.node ? -1 : 1));
  const failing = holders[(seed + holders.length - 1) % holders.length];
  if (failing === undefined) throw new DemoFailure('no node holds an address');
  const { address, node: from } = failing;
  const since = cloud.calls.all().at(-1)?.n ?? 0;
  screen.step(`${from}, which holds ${address}, turns NotReady`);
  // Before it is sent, so that the way to the API server counts as the operator's time and never the other way round.
  const accepted = { what: 'NotReady accepted by the Kubernetes API', at: now() };
  await setNodeReady(client, from, false);
  const received = await until(`DigitalOcean is asked to assign ${address}`, () => assignsSince(stage, since)[0] ?? null);
  screen.step(`assign received by DigitalOcean after ${span(received.at - accepted.at)}`);
  const finishedAt = await until('the action finishes', () => finishedSince(stage, address, accepted.at));
  screen.step(`action finished after ${span(finishedAt - accepted.at)}: DigitalOcean routes ${address} to the other droplet`);
  const active = await until(`${address} is active on another node`, () => {
    const row = follower.view.addresses.find((one) => one.address === address);
    return row?.state === 'active' && row.node !== from ? row : null;
  });
  screen.step(`active on ${active.node} in the status after ${span(active.since - accepted.at)}`);
  const movedAt = await until('the annotation moves', () => annotationMoved(follower, { address, from, to: active.node }));
  screen.step(`annotation moved after ${span(movedAt - accepted.at)}`);
  const assigns = assignsSince(stage, since).length;
  if (assigns !== 1) throw new DemoFailure(`one failover took ${assigns} assigns instead of one`);
  const moments = [
    accepted,
    { what: 'assign received by DigitalOcean', at: received.at },
    { what: 'action finished', at: finishedAt },
    { what: '`active` in the status', at: active.since },
    { what: 'annotation moved', at: movedAt },
  ];
  return { address, from, to: active.node, moments: moments.toSorted((a, b) => a.at - b.at) };
}

const isAssign = ({ method, path, body }: Call): boolean =>
  method === 'POST' && path.endsWith('/actions') && (body as { type?: string } | null)?.type === 'assign';

const assignsSince = ({ cloud }: Stage, since: number): readonly Call[] => cloud.calls.select({ since, writes: true }).filter(isAssign);

function finishedSince({ cloud }: Stage, address: string, since: number): number | null {
  const action = [...cloud.state.actions.values()].findLast(({ ip, type }) => ip === address && type === 'assign_ip');
  if (action === undefined || action.startedAt < since) return null;
  if (action.status === 'errored') throw new DemoFailure(`DigitalOcean could not assign ${address}`);
  return action.completedAt;
}

function annotationMoved({ view }: Follower, { address, from, to }: { address: string; from: string; to: string }): number | null {
  const [old, young] = [from, to].map((wanted) => view.nodes.find(({ name }) => name === wanted));
  if (old === undefined || young === undefined || old.annotation !== '' || young.annotation !== address) return null;
  return Math.max(old.annotatedSince, young.annotatedSince);
}

/** A node that recovers gets nothing back: moving an address once more would break the connections a second time. */
async function comeBack({ stage, screen, until, follower }: Cast, node: string): Promise<void> {
  const since = stage.cloud.calls.all().at(-1)?.n ?? 0;
  screen.step(`${node} is Ready again`);
  await setNodeReady(stage.client, node, true);
  await until(`${node} is a spare node`, () => follower.view.assignable.includes(node) || null);
  const writes = stage.cloud.calls.select({ since, writes: true }).length;
  if (writes > 0) throw new DemoFailure(`a recovered node caused ${writes} writes at DigitalOcean`);
  screen.step(`${node} is a spare now: no address moves back`);
}

/** The provider, the status and the annotations say the same. @throws DemoFailure */
async function verify({ stage, follower, until }: Cast, { addresses }: Pool): Promise<void> {
  // A record may list an address a moment before the status calls it active.
  await until('all addresses are active', () => allActive(follower));
  const { reservedIPs } = stage.cloud.state;
  if (reservedIPs.size !== addresses.length) {
    throw new DemoFailure(`${reservedIPs.size} addresses exist at DigitalOcean instead of ${addresses.length}`);
  }
  for (const { address, node, state } of follower.view.addresses) {
    const droplet = reservedIPs.get(address)?.dropletId;
    if (state !== 'active' || droplet !== stage.droplets.get(node)) {
      throw new DemoFailure(`${address} is ${state} on ${node} by the status, and on droplet ${droplet} at DigitalOcean`);
    }
  }
}
