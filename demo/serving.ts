import { at } from '../simulator/kubernetes/objects.ts';
import type { Cast } from './cast.ts';
import { DemoFailure } from './failure.ts';
import { orderOf } from './order.ts';
import type { Part } from './routing.ts';
import { OWNER, type ServiceRow } from './service-view.ts';
import { SERVICES_MANIFEST, SERVICES_NAMESPACE } from './stage.ts';
import { now, span } from './time.ts';

/** The manifest's group has two addresses. */
const [FIRST, SECOND, THIRD] = ['web', 'mail', 'chat'] as const;
/** What a Service is told when every group is full. */
const EXHAUSTED = 'no IP could be allocated';

/** Two Services get the two addresses of a group, a third one waits and is told why, and is served when one of them goes.
 *  @throws DemoFailure as soon as an address is two Services' */
export async function serve(cast: Cast): Promise<readonly Part[]> {
  const { stage, screen, until } = cast;
  screen.step(`${SERVICES_MANIFEST.replace('../', '')} is applied: an IPGroup of two addresses, two Services of type LoadBalancer`);
  const applied = { what: 'manifest applied', at: now() };
  await stage.apply(SERVICES_MANIFEST);
  const first = await bound(cast, FIRST);
  const second = await bound(cast, SECOND);
  const both = { title: `Services ${FIRST} and ${SECOND}`, moments: [applied, ...momentsOf(cast, FIRST), ...momentsOf(cast, SECOND)] };
  screen.step(`${FIRST} has ${first.address}, ${SECOND} has ${second.address}: the group is full`);
  await screen.pause();
  await stage.client.create(serviceNamed(THIRD));
  await until(`${THIRD} is told why it waits`, () => rowOf(cast, THIRD)?.why.includes(EXHAUSTED) || null);
  screen.step(`${THIRD} waits: ${EXHAUSTED}`);
  await screen.pause();
  const handed = await handOver(cast, first.address);
  await verify(cast, { [SECOND]: second.address, [THIRD]: first.address });
  return [{ ...both, moments: both.moments.toSorted((a, b) => a.at - b.at) }, handed];
}

const rowOf = ({ follower }: Cast, name: string): ServiceRow | undefined => follower.view.services.find((row) => row.name === name);

const bound = async (cast: Cast, name: string): Promise<ServiceRow> =>
  cast.until(`Service ${name} has an address`, () => {
    const row = rowOf(cast, name);
    return row?.address ? row : null;
  });

function momentsOf(cast: Cast, name: string) {
  const row = rowOf(cast, name);
  const reserved = reservationSince(cast, { owner: `${SERVICES_NAMESPACE}/${name}`, since: 0 });
  if (!row || reserved === null) throw new DemoFailure(`${name} lists ${row?.address}, which nobody reserved`);
  return [
    { what: `${row.address} reserved for ${name}`, at: reserved },
    { what: `listed in the status of ${name}`, at: row.since },
  ];
}

function reservationSince({ follower }: Cast, { owner, since }: { readonly owner: string; readonly since: number }): number | null {
  return follower.view.reservations.find((one) => one.owner === owner && one.at >= since)?.at ?? null;
}

/** The first Service goes, and the one that waits has its address. */
async function handOver(cast: Cast, address: string): Promise<Part> {
  const { stage, screen, follower } = cast;
  screen.step(`Service ${FIRST} is deleted`);
  const deleted = { what: `${FIRST} deleted`, at: now() };
  await stage.client.delete({ apiVersion: 'v1', kind: 'Service', namespace: SERVICES_NAMESPACE, name: FIRST });
  const order = orderOf(cast, deleted);
  await order.next(`${address} free`, () => {
    const freed = follower.view.reservations.find((one) => one.address === address && one.owner === '');
    return freed?.at ?? null;
  });
  const owner = `${SERVICES_NAMESPACE}/${THIRD}`;
  await order.next(`${address} reserved for ${THIRD}`, () => reservationSince(cast, { owner, since: deleted.at }));
  const served = await order.next(`listed in the status of ${THIRD}`, () => {
    const row = rowOf(cast, THIRD);
    return row?.address === address ? row.since : null;
  });
  screen.step(`${THIRD} has ${address}, ${span(served - deleted.at)} after it was deleted`);
  return { title: `${address}, ${FIRST} -> ${THIRD}`, moments: order.moments() };
}

/** The objects in the API are what was seen, the group counts them, and nothing is reserved for nobody. @throws DemoFailure */
async function verify({ stage, until }: Cast, expected: Readonly<Record<string, string>>): Promise<void> {
  const { client } = stage;
  const owned = (await client.list('paas.org/v1', 'IP')).map(({ metadata }) => `${metadata.annotations?.[OWNER]} ${metadata.name}`);
  const wanted = Object.entries(expected).map(([name, address]) => `${SERVICES_NAMESPACE}/${name} ${address}`);
  if (owned.sort().join() !== wanted.sort().join())
    throw new DemoFailure(`reserved are ${owned.join(', ')} instead of ${wanted.join(', ')}`);
  await until('the group says that it is full', async () => {
    const [group] = await client.list('paas.org/v1', 'IPGroup');
    return at(group, 'status', 'allocated') === wanted.length || null;
  });
}

const serviceNamed = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: SERVICES_NAMESPACE },
  spec: { type: 'LoadBalancer', selector: { app: name }, ports: [{ port: 5222 }] },
});
