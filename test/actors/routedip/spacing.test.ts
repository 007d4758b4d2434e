import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { accountOf, secretKey } from '../../hostile/accounts.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

const COOL_OFF = 20 * SECOND;
const NAMES = ['one', 'two', 'three'];

interface Served {
  readonly refs: readonly ObjectRef[];
  /** How many assigns were sent before the nodes were lost. */
  readonly assigned: number;
}

/** Three RoutedIPs of a class with a cool-off of 20 s, each on a node of its own, and three nodes to which they can go. */
async function served(world: RoutedWorld): Promise<Served> {
  world.setClass({ assignmentCoolOffSeconds: 20, routedIPFirewallName: '' });
  world.setNode(...NAMES.map((name) => node(`at-${name}`, { createdAt: 9 })), ...NAMES.map((name) => node(`to-${name}`, { createdAt: 1 })));
  for (const name of NAMES) world.setWeb(name, [`at-${name}`, `to-${name}`]);
  await world.leader();
  const refs = NAMES.map((name) => world.setRoutedIP(name));
  for (const [index, ref] of refs.entries()) await world.stable(ref, `at-${NAMES[index]}`, 2 * MINUTE);

  await world.clock.advance(2 * COOL_OFF);
  return { refs, assigned: world.assigns().length };
}

const loseAll = (world: RoutedWorld): void =>
  world.cluster.setNode(...NAMES.map((name) => node(`at-${name}`, { createdAt: 9, ready: false })));

const moved = (world: RoutedWorld, refs: readonly ObjectRef[]): Promise<number> =>
  world.clock.runUntil(() => refs.every((ref) => String(world.statusOf(ref).assignedNode).startsWith('to-')), 2 * MINUTE);

/** From the first assign to each, ms. */
function times(world: RoutedWorld, assigned: number): readonly number[] {
  const sent = world.assigns().slice(assigned);
  return sent.map(({ at }) => at - (sent[0]?.at ?? 0));
}

/** At t, t + 20 s and t + 40 s after what was confirmed before, which takes less than a second. */
function expectSpaced(since: readonly number[]): void {
  expect(since).toHaveLength(3);
  for (const [index, at] of since.entries()) {
    expect(at).toBeGreaterThanOrEqual(index * COOL_OFF);
    expect(at).toBeLessThan(index * (COOL_OFF + SECOND) + SECOND);
  }
}

describe('RoutedIPs of a class with a cool-off of 20 s', () => {
  test('that lose their nodes at once are granted others at t, t + 20 s and t + 40 s', async ({ open }) => {
    const world = open();
    const { refs, assigned } = await served(world);
    loseAll(world);
    await world.clock.runUntil(() => world.assigns().length > assigned, SECOND);
    await moved(world, refs);
    expectSpaced(times(world, assigned));
  });

  test('say that they wait for their turn, and call nothing wrong', async ({ open }) => {
    const world = open({ provider: { actionMs: 5 * SECOND } });
    const { refs, assigned } = await served(world);
    loseAll(world);
    await world.clock.runUntil(() => world.assigns().length > assigned, SECOND);
    await world.clock.advance(2 * SECOND);
    const told = refs.map((ref) => [world.reasonOf(ref, 'Progressing'), world.reasonOf(ref, 'Degraded')].join());
    expect([...told].sort()).toEqual(['Assigning,AsExpected', 'Spacing,AsExpected', 'Spacing,AsExpected']);
    const waiting = refs[told.indexOf('Spacing,AsExpected')] as ObjectRef;
    expect(world.messageOf(waiting, 'Progressing')).toBe('another assignment of its class has to be confirmed first');
    await world.clock.advance(5 * SECOND);
    expect(world.messageOf(waiting, 'Progressing')).toContain('the next assignment comes at');
    await moved(world, refs);
  });

  test('keep that time when the leader changes in between', async ({ open }) => {
    const world = open();
    const { refs, assigned } = await served(world);
    loseAll(world);
    await world.clock.runUntil(() => world.assigns().length > assigned, SECOND);
    await world.clock.advance(3 * SECOND);
    expect(world.assigns()).toHaveLength(assigned + 1);
    const [former] = world.processes;
    if (!former) throw new Error('nobody leads');
    former.kill();
    world.lease.delete();
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    expect(world.assigns(), 'it leads before the next one is due').toHaveLength(assigned + 1);
    await moved(world, refs);
    expectSpaced(times(world, assigned));
  });

  test.for([
    ['is refused', 'refused', 'Unauthorized'],
    ['is of another account', 'foreign', 'AddressNotFound'],
  ] as const)(
    'do not wait for one that had its turn and has gone to an issuer whose token %s, whoever leads by then',
    async (row, { open }) => {
      const [, holds, reason] = row;
      const world = open();
      world.begins = ({ providers }) => providers.set(secretKey('web', 'token'), accountOf(holds, world));
      const spec = { issuerClass: 'digitalocean', region: 'nyc3', fromSecretsRef: [{ name: 'token' }] };
      world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'own', spec });
      world.setClass({ assignmentCoolOffSeconds: 20, routedIPFirewallName: '' });
      world.setNode(...NAMES.map((name) => node(`at-${name}`)));
      for (const name of NAMES) world.setWeb(name, [`at-${name}`]);
      const first = world.setRoutedIP('one');
      await world.start((point, about) => point === 'beforeSend' && about.startsWith('assign'));
      await world.clock.runUntil(() => world.processes.length === 0, MINUTE);
      expect(world.assigns()).toEqual([]);
      world.setRoutedIP('one', { className: null, issuerRef: { name: 'own' } });
      const others = ['two', 'three'].map((name) => world.setRoutedIP(name));
      // The next one leads before the call is tried again, and has it not sent.
      world.lease.delete();
      await world.start();
      for (const ref of others) await world.stable(ref, `at-${ref.name}`, 2 * MINUTE);
      expect(world.reasonOf(first)).toBe(reason);
    },
  );

  test('do not wait for those of an issuer, nor those for them', async ({ open }) => {
    const world = open();
    const issuer = { issuerClass: 'digitalocean', region: 'nyc3', assignmentCoolOffSeconds: 20 };
    world.openNamespace();
    world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'other', spec: issuer });
    const { refs, assigned } = await served(world);
    world.setNode(node('at-else', { createdAt: 9 }), node('to-else', { createdAt: 1 }));
    world.setWeb('else', ['at-else', 'to-else']);
    const spec = { issuerRef: { name: 'other' }, serviceRef: { serviceName: 'else' } };
    const other = world.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name: 'else', spec });
    await world.stable(other, 'at-else');
    await world.clock.advance(2 * COOL_OFF);
    const before = world.assigns().length;
    expect(before).toBe(assigned + 1);
    loseAll(world);
    world.cluster.setNode(node('at-else', { createdAt: 9, ready: false }));
    await world.stable(other, 'to-else', 2 * SECOND);
    expect(world.assigns().slice(before), 'one of each').toHaveLength(2);
    await moved(world, refs);
    const own = world
      .assigns()
      .slice(before)
      .filter(({ what }) => !what.endsWith('→ to-else'));
    expectSpaced(own.map(({ at }) => at - (own[0]?.at ?? 0)));
  });
});
