import { describe, expect, test } from 'vitest';
import type { StoredCell } from '../../../actors/ports/records.ts';
import type { Envelope } from '../../../actors/runtime/turn.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryQueues } from '../../../adapters/memory/queues.ts';
import { memoryStore } from '../../../adapters/memory/store.ts';
import type { FirewallContext } from '../../../machines/firewall/context.ts';
import { firewallActor } from '../../../machines/model/actor-id.ts';
import type { ActorId, ProviderID } from '../../../machines/model/types.ts';
import { cellsOn } from '../../support/cells.ts';

const ACTOR = firewallActor('digitalocean', 'edge');
const WEB: ActorId = 'rip/web/shop/ip/203.0.113.7';
const NODE = { name: 'a', providerID: 'digitalocean://a' as ProviderID };

const claim = (claimId: string, mode: 'open' | 'prune'): Envelope => ({
  to: ACTOR,
  event: { type: 'CLAIM', claimant: WEB, claimId, mode, node: mode === 'open' ? NODE : null, ports: mode === 'open' ? ['tcp/80'] : [] },
  sender: { actor: WEB, id: claimId },
});
const DELETED: Envelope = { to: ACTOR, event: { type: 'DELETED' } };

/** The cells of a term in which a firewall stands of which nobody claims anything. */
async function unused() {
  const clock = virtualClock();
  const [store, queues] = [memoryStore(), memoryQueues(clock)];
  await store.openTerm(1);
  const cells = cellsOn({ store, queues, clock });
  await cells.deliver(claim(`${WEB}.1.1.0`, 'prune'));
  await clock.settle();
  const context = () => cells.recordsOf(ACTOR)?.get(ACTOR)?.snapshot.context as unknown as FirewallContext | undefined;
  expect(context()).toMatchObject({ claims: {}, waiting: {} });
  return { cells, clock, store, queues, context };
}

describe('a claim that comes while a firewall ends', () => {
  test.each([
    { when: 'after the end was decided', before: [DELETED] },
    { when: 'in one turn with the end', before: [{ to: ACTOR, event: { type: 'RESUME' } }, DELETED] },
  ])('$when is heard by the next one, which is stored', async ({ before }) => {
    const { cells, clock, store, queues, context } = await unused();
    const former = cells.all.get(ACTOR);
    const all = [...before, claim(`${WEB}.1.2.0`, 'open')].map((envelope) => cells.deliver(envelope));
    await Promise.all(all);
    await clock.settle();
    expect(cells.all.get(ACTOR), 'it has ended').not.toBe(former);
    expect(Object.keys(context()?.claims ?? {})).toEqual([WEB]);
    expect(Object.keys((await store.load(ACTOR))?.records ?? {})).toEqual([ACTOR]);
    expect(queues.jobs('digitalocean').map(({ data }) => (data as { job?: string }).job)).toEqual(['findFirewall']);
  });
});

/** The cell of an address whose last claim stands in the outbox still: nothing was written of it since that was sent. */
const sender = (waiting: StoredCell['records'][ActorId]['waiting']): StoredCell => {
  const { to, event } = claim(`${WEB}.1.1.0`, 'open');
  return {
    records: { [WEB]: { chart: 'ip', chartVersion: 1, snapshot: { value: 'Stable', context: {} }, waiting, version: 2, term: 1 } },
    outbox: [{ kind: 'send', id: `${WEB}.1.1.0`, actor: WEB, to, event: event as never }],
    seen: {},
  };
};

describe('a claim of a former term, when the firewall that heard it has ended', () => {
  test.each([
    { what: 'that was answered begins no firewall', waiting: {}, claims: [] },
    { what: 'that waits for its answer begins one', waiting: { claim: { commandId: `${WEB}.1.1.0` } }, claims: [WEB] },
    { what: 'in whose place another one waits begins no firewall', waiting: { claim: { commandId: `${WEB}.1.2.0` } }, claims: [] },
  ])('$what', async ({ waiting, claims }) => {
    const clock = virtualClock();
    const store = memoryStore();
    await store.openTerm(1);
    const cells = cellsOn({ store, queues: memoryQueues(clock), clock });
    cells.load('rip/web/shop', sender(waiting));
    cells.open();
    cells.sweep();
    await clock.settle();
    const context = cells.recordsOf(ACTOR)?.get(ACTOR)?.snapshot.context as unknown as FirewallContext | undefined;
    expect(Object.keys(context?.claims ?? {})).toEqual(claims);
  });
});
