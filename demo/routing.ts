import type { Call } from '../simulator/digitalocean/call-log.ts';
import { cordon } from '../simulator/kubernetes/cluster.ts';
import { callSince, expectWrites, isCreate, isNode, isPort, lastCall } from './calls.ts';
import type { Cast, Moment } from './cast.ts';
import { DemoFailure } from './failure.ts';
import { type Order, orderOf } from './order.ts';
import { CLOSED_PORT, firewallOf, OPEN_PORT, SHOP, SHOP_MANIFEST, SHOP_NODES } from './shop.ts';
import { now } from './time.ts';
import type { TrafficRow } from './traffic.ts';

/** What the act about a Service came to. */
export interface Routing {
  readonly address: string;
  readonly parts: readonly Part[];
  readonly traffic: readonly TrafficRow[];
}

/** Something that was done, and what followed in which order. */
export interface Part {
  readonly title: string;
  readonly moments: readonly Moment[];
}

/** An address for a Service is created, its port opened; it moves from a node that is cordoned, then from one that dies. All the time somebody connects to
 *  its port, and to one that is closed. @throws DemoFailure as soon as the order is another one, or a connection fails that should not */
export async function route(cast: Cast): Promise<Routing> {
  const { shop, screen, stage, until } = cast;
  await shop.open();
  screen.step(`${SHOP_NODES.length} nodes serve the shop at port ${OPEN_PORT}; none is in its firewall yet`);
  const { address, holder, part: created } = await create(cast);
  await shop.probe(address);
  await until(`${address}:${OPEN_PORT} answers`, () => rowOf(cast, OPEN_PORT).answered > 0 || null);
  await until(`${address}:${CLOSED_PORT} is refused`, () => rowOf(cast, CLOSED_PORT).refused > 0 || null);
  screen.step(`${address}:${OPEN_PORT} is answered by ${holder}, ${address}:${CLOSED_PORT} is refused`);
  await screen.pause();
  const planned = await move(cast, { title: 'Planned move', what: `${holder} is cordoned`, act: () => cordon(stage.client, holder, true) });
  await screen.pause();
  const failing = holderOf(cast);
  const failover = await move(cast, { title: 'Failover', what: `${failing} dies`, act: () => shop.kill(failing) });
  await screen.pause();
  await comeBack(cast, holder, failing);
  verify(cast);
  const traffic = shop.look().traffic;
  shop.slowDown();
  return { address, parts: [created, planned, failover], traffic };
}

/** An address whose node may hold it stays, whatever other nodes come. */
async function comeBack(cast: Cast, cordoned: string, dead: string): Promise<void> {
  const { stage, shop, screen, until, follower } = cast;
  const [since, { answered }] = [lastCall(cast), rowOf(cast, OPEN_PORT)];
  await Promise.all([cordon(stage.client, cordoned, false), shop.revive(dead)]);
  const isBack = (name: string) => follower.view.nodes.some((node) => node.name === name && node.ready && !node.cordoned);
  await until('both nodes are back', () => (isBack(cordoned) && isBack(dead)) || null);
  await until('20 more connections are answered', () => rowOf(cast, OPEN_PORT).answered > answered + 20 || null);
  expectWrites(cast, { since, count: 0 });
  screen.step(`${cordoned} and ${dead} are back: the address stays where it is`);
}

const holderOf = ({ follower }: Cast): string => follower.view.routed?.holder ?? '';

function rowOf({ shop }: Cast, port: number): TrafficRow {
  const row = shop.look().traffic.find((one) => one.port === port);
  if (row === undefined) throw new DemoFailure(`nobody connects to port ${port}`);
  return row;
}

async function create(cast: Cast): Promise<{ readonly address: string; readonly holder: string; readonly part: Part }> {
  const { stage, screen, shop } = cast;
  const since = lastCall(cast);
  screen.step(`${SHOP_MANIFEST.replace('../', '')} is applied: a class, a Service, a RoutedIP`);
  const applied = { what: 'manifest applied', at: now() };
  await stage.apply(SHOP_MANIFEST);
  const sequence = orderOf(cast, applied);
  await sequence.next('address created', () => callSince(cast, since, isCreate)?.at ?? null);
  await sequence.next(`tcp/${OPEN_PORT} added to the firewall`, () => callSince(cast, since, isPort)?.at ?? null);
  const to = await electedNode(cast, '');
  const added = await sequence.next(`${to} added to the firewall`, () => callSince(cast, since, isNode(cast, 'POST', to))?.at ?? null);
  await sequence.next(`in force on ${to}`, () => shop.inForceAt(to, 'open', added));
  await arrive(cast, sequence, { to, since });
  await stable(cast, sequence, to);
  expectWrites(cast, { since, count: 4 });
  const address = cast.follower.view.routed?.address ?? '';
  return { address, holder: to, part: { title: `RoutedIP ${SHOP}, ${address} on ${to}`, moments: sequence.moments() } };
}

interface Cause {
  readonly title: string;
  readonly what: string;
  readonly act: () => Promise<unknown>;
}

/** Has the address leave its node, and checks what followed. */
async function move(cast: Cast, { title, what, act }: Cause): Promise<Part> {
  const { screen, shop, until } = cast;
  const [from, since, before] = [holderOf(cast), lastCall(cast), rowOf(cast, OPEN_PORT)];
  screen.step(what);
  const cause = { what, at: now() };
  await act();
  const sequence = orderOf(cast, cause);
  const to = await electedNode(cast, from);
  const added = await sequence.next(`${to} added to the firewall`, () => callSince(cast, since, isNode(cast, 'POST', to))?.at ?? null);
  await sequence.next(`in force on ${to}`, () => shop.inForceAt(to, 'open', added));
  await arrive(cast, sequence, { to, since });
  const removed = await sequence.next(
    `${from} taken out of the firewall`,
    () => callSince(cast, since, isNode(cast, 'DELETE', from))?.at ?? null,
  );
  await stable(cast, sequence, to);
  await sequence.next(`closed on ${from}`, () => shop.inForceAt(from, 'closed', removed));
  expectWrites(cast, { since, count: 3 });
  const moved = rowOf(cast, OPEN_PORT).answered;
  const after = await until(`${to} answers`, () => {
    const row = rowOf(cast, OPEN_PORT);
    return row.by === to && row.answered > moved + 3 ? row : null;
  });
  screen.step(`${to} answers; lost were ${lossOf(before, after)}`);
  const { address } = after;
  return { title: `${title} of ${address}, ${from} -> ${to}`, moments: sequence.moments() };
}

/** How many connections failed meanwhile, and why. @throws DemoFailure when that should not have been */
function lossOf(before: TrafficRow, after: TrafficRow): string {
  const refused = after.refused - before.refused;
  if (refused > 0) throw new DemoFailure(`${refused} connections to a healthy node failed, the last one with "${after.reason}"`);
  const down = after.nodeDown - before.nodeDown;
  return `${after.inTransit - before.inTransit} in transit,${down > 0 ? ` ${down} with the node down,` : ''} 0 otherwise`;
}

const electedNode = ({ until, follower }: Cast, former: string): Promise<string> =>
  until('a node is elected', () => {
    const node = follower.view.routed?.node ?? '';
    return node === '' || node === former ? null : node;
  });

async function arrive(cast: Cast, order: Order, { to, since }: { readonly to: string; readonly since: number }): Promise<void> {
  const droplet = cast.stage.droplets.get(to);
  const isAssign = ({ body }: Call) => (body as { droplet_id?: number } | null)?.droplet_id === droplet;
  const assigned = await order.next(`assign to ${to} received`, () => callSince(cast, since, isAssign)?.at ?? null);
  await order.next('action finished', () => {
    const action = [...cast.stage.cloud.state.actions.values()].findLast((one) => one.dropletId === droplet && one.type === 'assign_ip');
    if (action?.status === 'errored') throw new DemoFailure(`DigitalOcean could not assign the address to ${to}`);
    return action !== undefined && action.startedAt >= assigned ? action.completedAt : null;
  });
}

const stable = ({ follower }: Cast, order: Order, node: string): Promise<void> =>
  order.also('`Stable` in the status', () => {
    const { routed } = follower.view;
    return routed?.state === 'Stable' && routed.holder === node ? routed.since : null;
  });

/** What is open and where the address is, by the provider, is what the status says. @throws DemoFailure */
function verify(cast: Cast): void {
  const { stage, follower } = cast;
  const { address = '', holder = '' } = follower.view.routed ?? {};
  const droplet = stage.cloud.state.reservedIPs.get(address)?.dropletId;
  if (droplet === undefined || droplet !== stage.droplets.get(holder)) {
    throw new DemoFailure(`${address} is on ${holder} by the status, and on droplet ${droplet} at DigitalOcean`);
  }
  const members = firewallOf(stage)?.dropletIds ?? [];
  if (members.join() !== String(droplet))
    throw new DemoFailure(`the firewall has the droplets ${members.join(', ')} instead of ${droplet}`);
  const { answered } = rowOf(cast, CLOSED_PORT);
  if (answered > 0) throw new DemoFailure(`port ${CLOSED_PORT} was answered ${answered} times, and nobody opened it`);
}
