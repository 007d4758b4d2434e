import { describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../actors/ports/records.ts';
import { happened, journal, replay, replayed } from '../../plugin/journal.ts';
import { EXIT } from '../../plugin/ports.ts';
import { ingress, lose } from '../support/setups.ts';
import { World } from '../support/world.ts';
import { NOW, POOLS, pool, ROUTED_IPS, routedIP, world } from './support.ts';

const ADDRESS = '203.0.113.9';
const ACTOR = `pool/default/ingress/ip/${ADDRESS}`;
const PATH = `/api/v1/namespaces/routedip-operator/services/routedip-operator-journal:journal/proxy/journal?actor=${encodeURIComponent(ACTOR)}`;

/** What an operator keeps of an address that begins, serves, and leaves a node that fails; newest first, as it is stored. */
async function kept(): Promise<readonly JournalEntry[]> {
  const played = new World();
  const ref = ingress(played, { nodes: ['a', 'b'], addresses: { [ADDRESS]: null } });
  await played.start();
  await played.untilStates(ref, { [ADDRESS]: 'active' });
  const holder = played.holderOf(ADDRESS) ?? '';
  played.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'Unavailable' });
  lose(played, holder);
  await played.untilOn(ADDRESS, holder === 'a' ? 'b' : 'a', 120_000);
  await played.untilStates(ref, { [ADDRESS]: 'active' });
  return (await played.store.journal('pool/default/ingress', 200)).filter(({ actor }) => actor === ACTOR);
}

describe('the journal of an address', () => {
  test('is shown oldest first, with what each event was about', async () => {
    const entries = await kept();
    const made = world({
      [POOLS]: [pool('ingress', { ips: { [ADDRESS]: { state: 'active', machineState: 'Stable' } } })],
      [PATH]: { entries },
    });
    expect(await journal(made.session, { address: ADDRESS })).toBe(EXIT.ok);
    const [title, , heads, first] = made.out().split('\n');
    expect(title).toBe(`${ADDRESS} of floatingippool/ingress in default`);
    expect(heads).toMatch(/^TIME +AGE +WHAT HAPPENED +FROM +TO$/);
    expect(first).toContain('begins');
    expect(made.out()).toMatch(/NODE_OBSERVED a, not eligible +Stable\.Holding +Unassigned/);
    expect(made.out()).toMatch(/assign failed: Unavailable +Assigning +CoolOff/);
    expect(made.out()).toMatch(/after coolOff +CoolOff/);
  });

  test('comes out the same when the chart takes it again, step by step, with what each step does', async () => {
    const steps = replayed([...(await kept())].reverse());
    expect(steps.length).toBeGreaterThan(5);
    expect(steps.filter(({ verdict }) => verdict !== 'same').map(({ verdict }) => verdict)).toEqual(['begins']);
    expect(steps.flatMap(({ does }) => does.split(', '))).toContain(`job: assign ${ADDRESS} → b`);
  });

  test('that came out otherwise is told, and ends with 3', async () => {
    const entries = (await kept()).map((entry) => (entry.event.startsWith('xstate.error') ? { ...entry, to: 'Stable' } : entry));
    const made = world({ [POOLS]: [pool('ingress', { ips: { [ADDRESS]: { state: 'active' } } })], [PATH]: { entries } });
    expect(await replay(made.session, { address: ADDRESS })).toBe(EXIT.attention);
    expect(made.out()).toMatch(/assign failed: Unavailable +Assigning +Stable +DIFFERS: CoolOff/);
    expect(made.out()).toContain(', 1 differs');
  });

  test.each([
    ['has only states', { data: undefined, was: undefined }, 'the journal has only the states of this transition'],
    ['is of another version', { chart: 99 }, 'recorded by version 99 of the chart'],
    ['is of a state that there is no more', { from: 'Resting' }, 'this program has no such state'],
  ])('that %s is not judged', async (_, change, why) => {
    const [entry] = (await kept()).filter(({ event }) => event === 'NODE_GRANTED');
    expect(entry).toBeDefined();
    const [step] = replayed([{ ...entry, ...change } as JournalEntry]);
    expect(step).toMatchObject({ verdict: 'unknown', does: expect.stringContaining(why) });
  });

  test('is small: an event or a context that is long is left out', async () => {
    const entries = await kept();
    expect(Math.max(...entries.map((entry) => JSON.stringify(entry).length))).toBeLessThan(1_500);
  });

  test('is asked of whom it belongs to, and says when nobody has the address, nobody serves it, or it may not be read', async () => {
    const none = world({ [POOLS]: [], [ROUTED_IPS]: [routedIP('shop', { routedIP: '203.0.113.1' })] });
    await expect(journal(none.session, { address: ADDRESS })).rejects.toThrow(
      `no FloatingIPPool and no RoutedIP that can be seen has ${ADDRESS}`,
    );
    const objects = { [POOLS]: [pool('ingress', { ips: { [ADDRESS]: { state: 'active' } } })] };
    await expect(journal(world(objects).session, { address: ADDRESS })).rejects.toThrow('Apply deploy/journal.yaml');
    await expect(journal(world({ ...objects, [PATH]: 'you may not get services/proxy' }).session, { address: ADDRESS })).rejects.toThrow(
      'you may not get services/proxy',
    );
    const empty = world({ ...objects, [PATH]: { entries: [] } });
    expect(await journal(empty.session, { address: ADDRESS })).toBe(EXIT.ok);
    expect(empty.out()).toContain('The operator remembers nothing of it.');
  });

  test.each([
    ['xstate.done.actor.assign', {}, 'assign done'],
    ['xstate.error.actor.find', { error: { kind: 'NotFound' } }, 'find failed: NotFound'],
    ['xstate.after.coolOff.ip.CoolOff', {}, 'after coolOff'],
    ['NODE_GRANTED', { node: { name: 'a' } }, 'NODE_GRANTED a'],
    ['NODE_OBSERVED', { name: 'a', eligible: false }, 'NODE_OBSERVED a, not eligible'],
    ['init', undefined, 'begins'],
  ])('calls %s what people call it', (event, data, text) => {
    expect(happened({ event, ...(data && { data }) })).toBe(text);
  });

  test('ages are told from now on', async () => {
    const entries = [{ actor: ACTOR, at: NOW - 90_000, event: 'init', from: null, to: 'Unassigned' }];
    const made = world({ [POOLS]: [pool('ingress', { ips: { [ADDRESS]: { state: 'active' } } })], [PATH]: { entries } });
    await journal(made.session, { address: ADDRESS });
    expect(made.out()).toMatch(/2026-03-01T11:58:30.000Z +90s +begins +- +Unassigned/);
  });
});
