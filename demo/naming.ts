import { setNodeReady } from '../simulator/kubernetes/cluster.ts';
import type { Cast } from './cast.ts';
import { DemoFailure } from './failure.ts';
import { createAtProvider, nameThePool, recordOf, type Stage, ZONE } from './stage.ts';
import { now, span } from './time.ts';
import type { AddressRow } from './view.ts';

/** What the act about DNS came to. */
export interface Publication {
  readonly name: string;
  /** What was waited for, and how long, ms. */
  readonly moments: readonly { readonly what: string; readonly tookMs: number }[];
  /** Records that were created, changed or deleted, in all and for the failover. */
  readonly writes: number;
  readonly failoverWrites: number;
}

/** A record comes to list the addresses of the pool, is left alone by a failover, and loses an address for as long as no node can have it. */
export async function publish(cast: Cast): Promise<Publication> {
  const { stage, screen, follower } = cast;
  await createAtProvider(stage, 'domains', { name: ZONE });
  const all = follower.view.addresses.map(({ address }) => address).toSorted();
  screen.step(`the zone ${ZONE} is created at DigitalOcean, and the pool given a dnsRecordSet in it`);
  const listedMs = await untilListed(cast, all, () => nameThePool(stage));
  const name = recordOf(stage)?.name ?? '';
  screen.step(`${name} lists all addresses, ${span(listedMs)} after that`);
  await screen.pause();
  const before = recordWrites(stage);
  const former = await moveOne(cast, { name, all });
  await screen.pause();
  const failoverWrites = recordWrites(stage) - before;
  const { lostMs, backMs } = await loseOne(cast, { name, all, former });
  const moments = [
    { what: 'lists 3 addresses after `dnsRecordSet`', tookMs: listedMs },
    { what: 'lists 2 after an address lost its node', tookMs: lostMs },
    { what: 'lists 3 after a node came back', tookMs: backMs },
  ];
  return { name, moments, writes: recordWrites(stage), failoverWrites };
}

const recordWrites = ({ cloud }: Stage): number =>
  cloud.calls.select({ writes: true }).filter(({ path }) => path.startsWith(`/v2/domains/${ZONE}/records`)).length;

/** Does it, and waits until the record lists exactly these. Answers how long that took, ms. */
async function untilListed({ stage, until }: Cast, addresses: readonly string[], act: () => Promise<unknown>): Promise<number> {
  const startedAt = now();
  await act();
  const listed = () => JSON.stringify(recordOf(stage)?.addresses) === JSON.stringify(addresses);
  await until(`the DNS record lists ${addresses.join(', ')}`, () => (listed() ? true : null));
  return now() - startedAt;
}

function holderOf({ follower, seed }: Cast): AddressRow {
  const holders = follower.view.addresses.toSorted((a, b) => (a.node < b.node ? -1 : 1));
  const chosen = holders[(seed + holders.length - 1) % holders.length];
  if (chosen === undefined) throw new DemoFailure('no node holds an address');
  return chosen;
}

/** A failover that ends within two seconds is no matter of DNS: the same addresses serve. Answers the node that failed. */
async function moveOne(cast: Cast, { name, all }: { readonly name: string; readonly all: readonly string[] }): Promise<string> {
  const { stage, screen, until, follower } = cast;
  const { address, node: from } = holderOf(cast);
  const startedAt = now();
  const before = recordWrites(stage);
  screen.step(`${from}, which holds ${address}, turns NotReady`);
  await setNodeReady(stage.client, from, false);
  const moved = await until(`${address} is active on another node`, () => {
    const row = follower.view.addresses.find((one) => one.address === address);
    return row?.state === 'active' && row.node !== from ? row : null;
  });
  // On a machine that is very busy it may take longer than that, and the address leave the record for a moment.
  await untilListed(cast, all, () => Promise.resolve());
  const outcome = recordWrites(stage) === before ? 'is as it was' : 'lists it again';
  screen.step(`active on ${moved.node} after ${span(moved.since - startedAt)}; ${name} ${outcome}`);
  return from;
}

/** With no spare node an address that loses its own serves nobody: it leaves the record, and comes back with the node. */
async function loseOne(
  cast: Cast,
  { name, all, former }: { readonly name: string; readonly all: readonly string[]; readonly former: string },
) {
  const { stage, screen, until, follower } = cast;
  const turn = (nodes: readonly string[], ready: boolean) => Promise.all(nodes.map((one) => setNodeReady(stage.client, one, ready)));
  const spares = follower.view.assignable;
  const { address, node } = holderOf(cast);
  screen.step(`${[...spares, node].join(' and ')} turn NotReady: no node is left for ${address}`);
  // One after the other, or the address would go to a spare node that fails a moment later.
  await turn(spares, false);
  await until('there is no spare node', () => follower.view.assignable.length === 0 || null);
  const rest = all.filter((one) => one !== address);
  const lostMs = await untilListed(cast, rest, () => turn([node], false));
  screen.step(`${name} lists ${rest.join(' and ')} only, after ${span(lostMs)}`);
  await screen.pause();
  screen.step(`${node} is Ready again`);
  const backMs = await untilListed(cast, all, () => turn([node], true));
  screen.step(`${name} lists ${address} again, after ${span(backMs)}`);
  await turn([former, ...spares], true);
  return { lostMs, backMs };
}
