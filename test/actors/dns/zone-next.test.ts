import { describe, expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import type { Envelope } from '../../../actors/runtime/turn.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryQueues } from '../../../adapters/memory/queues.ts';
import { memoryStore } from '../../../adapters/memory/store.ts';
import type { ZoneContext } from '../../../machines/dns/zone.ts';
import { zoneActor } from '../../../machines/model/actor-id.ts';
import type { ActorId, Address } from '../../../machines/model/types.ts';
import { cellsOn } from '../../support/cells.ts';

const ACTOR = zoneActor('digitalocean', 'example.com');
const WEB: ActorId = 'dns/web/shop';

const claim = (revision: number, ...addresses: readonly string[]): Envelope => ({
  to: ACTOR,
  event: {
    ...{ type: 'RECORDS', claimant: WEB, revision, since: 0, recordName: 'web', ttlSeconds: 60 },
    addresses: addresses as readonly Address[],
  },
  sender: { actor: WEB, id: `${WEB}.1.${revision}.0` },
});
const ENDS: Envelope = { to: ACTOR, event: { type: 'xstate.after.verify.zone.Idle' } };

test.each([
  { when: 'after the end was decided', before: [ENDS] },
  { when: 'in one turn with the end', before: [{ to: ACTOR, event: { type: 'RESUME' } }, ENDS] },
])('a claim that comes $when of an unclaimed zone is heard by the next one, and no older claim after it', async ({ before }) => {
  const clock = virtualClock();
  const [store, queues] = [memoryStore(), memoryQueues(clock)];
  await store.openTerm(1);
  const cells = cellsOn({ store, queues, clock });
  await cells.deliver({ ...claim(1), sender: { actor: 'dns/web/former', id: 'dns/web/former.1.1.0' } });
  await clock.settle();
  const former = cells.all.get(ACTOR);
  await Promise.all([...before, claim(2, '203.0.113.2')].map((envelope) => cells.deliver(envelope)));
  await cells.deliver(claim(1, '203.0.113.1'));
  await clock.settle();
  expect(cells.all.get(ACTOR), 'it has ended').not.toBe(former);
  const context = cells.recordsOf(ACTOR)?.get(ACTOR)?.snapshot.context as unknown as ZoneContext | undefined;
  expect(context?.claims).toMatchObject({ [WEB]: { revision: 2, addresses: ['203.0.113.2'] } });
  expect(Object.keys((await store.load(ACTOR))?.records ?? {})).toEqual([ACTOR]);
  expect(queues.jobs('digitalocean').map(({ data }) => (data as { job?: string }).job)).toEqual(['ensureRecords']);
});

describe('a zone of which no record is there', () => {
  const contextAfter = async (ms: number) => {
    const clock = virtualClock();
    const store = memoryStore();
    await store.openTerm(1);
    const cells = cellsOn({ store, queues: memoryQueues(clock), clock });
    await clock.advance(ms);
    await cells.deliver(claim(1, '203.0.113.1'));
    const context = cells.recordsOf(ACTOR)?.get(ACTOR)?.snapshot.context as unknown as ZoneContext | undefined;
    return { context, now: clock.now() };
  };

  test('looks again once what was sent under a former term can have no effect any more', async () => {
    const { context, now } = await contextAfter(5_000);
    expect(context?.unheardUntil).toBe(now - 5_000 + DEFAULT_SETTINGS.callDeadlineMs);
  });

  test('has nothing to look for when that is over', async () => {
    const { context } = await contextAfter(DEFAULT_SETTINGS.callDeadlineMs);
    expect([Object.keys(context?.claims ?? {}), context?.unheardUntil]).toEqual([[WEB], undefined]);
  });
});
