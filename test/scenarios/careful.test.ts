import { describe, expect, test } from 'vitest';
import { cordon, setTaints } from '../../simulator/kubernetes/cluster.ts';
import {
  assignableNodes,
  assignedAt,
  type CarefulPool,
  CLOCKS_MS,
  carefulPool,
  eventsOf,
  holders,
  killed,
  loseMachine,
  machinesAskedFor,
  statusOf,
  untilEvent,
  untilReason,
  verified,
} from '../e2e/careful-steps.ts';
import { type Names, named } from '../e2e/named.ts';
import { movedFrom } from '../e2e/served.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';
import { contentionScenarios, holdScenarios } from './careful-hold.ts';
import { inputScenarios } from './careful-input.ts';

/** The fields of a pool that are off by default: a grace, draining, a hold, contention. */
describe('a careful pool', () => {
  const { names } = named({ cloud: { now: Date.now } });
  graceScenarios(names);
  drainScenarios(names);
  holdScenarios(names);
  contentionScenarios(names);
  inputScenarios(names);
});

// ---------------------------------------------------------------- spec.recoveryGraceSeconds

/** Longer than any test. */
const LONG = { recoveryGraceSeconds: 3600 };

/** Until when the node has time, as the Event about it says, ms since the epoch. */
async function recovering(pool: CarefulPool, node: string): Promise<number> {
  const beginning = `Recovering: ${node} is not Ready`;
  await untilEvent(pool, beginning);
  const text = (await eventsOf(pool)).find((event) => event.startsWith(beginning));
  return Date.parse(text?.split(`${pool.ip} stays there until `)[1] ?? '');
}

const graceScenarios = (current: () => Names) =>
  describe('with a grace', () => {
    test('keeps the address on a node that is back in time: nothing is assigned, its DNS record and its annotation stay', async () => {
      const names = current();
      const zone = await names.zoneAt('digitalocean');
      const dnsRecordSet = { zone: 'example.com', recordName: 'web' };
      const pool = await carefulPool(names, { ...LONG, dnsRecordSet }, { nodes: ['a', 'b'] });
      const { stage, ip } = pool;
      await stage.until('it is published', () => zone.records('web').join() === `A ${ip} 60`);
      const writes = () => stage.cloud.calls.select({ writes: true }).length;
      const before = writes();

      await stage.notReady('a');
      await untilReason(pool, 'Progressing', 'Recovering');
      const until = await recovering(pool, 'a');
      expect(await statusOf(pool)).toMatchObject({ state: 'active', nodeName: 'a', graceUntil: new Date(until).toISOString() });
      await stage.until('the provider was asked for its machine', () => machinesAskedFor(pool).length > 0);
      await verified(pool);
      expect([await stage.annotation('a'), await stage.annotation('b')]).toEqual([ip, null]);

      await stage.ready('a');
      await untilReason(pool, 'Progressing', 'Idle');
      await verified(pool);
      expect(await statusOf(pool)).toMatchObject({ state: 'active', nodeName: 'a' });
      expect(await statusOf(pool)).not.toHaveProperty('graceUntil');
      expect([writes(), zone.records('web'), holders(pool, ip), machinesAskedFor(pool)]).toEqual([
        before,
        [`A ${ip} 60`],
        [null, 'a'],
        ['a'],
      ]);
    });

    test('moves the address once its node has had its time, by one assign; the node gets nothing back', async () => {
      const pool = await carefulPool(current(), { recoveryGraceSeconds: 3 }, { nodes: ['a', 'b'] });
      const { stage, ip } = pool;
      await stage.notReady('a');
      const until = await recovering(pool, 'a');
      expect(await movedFrom(pool, 'a')).toBe('b');
      expect(assignedAt(pool, ip)[1]).toBeGreaterThanOrEqual(until - CLOCKS_MS);
      await stage.ready('a');
      await stage.until('a is there for others', async () => (await assignableNodes(pool)) === 'a');
      await verified(pool);
      expect(holders(pool, ip)).toEqual([null, 'a', 'b']);
      expect(stage.assigns(ip).map(({ node }) => node)).toEqual(['a', 'b']);
    });

    test('moves the address at once when the Node is deleted, while it has time and without it', async () => {
      const pool = await carefulPool(current(), LONG, { nodes: ['a', 'b', 'c'] });
      const { stage, ip } = pool;
      await stage.notReady('a');
      await untilReason(pool, 'Progressing', 'Recovering');
      expect(stage.assigns(ip)).toHaveLength(1);
      await stage.deleteNode('a');
      expect(await movedFrom(pool, 'a')).toBe('b');
      await stage.deleteNode('b');
      expect(await movedFrom(pool, 'b')).toBe('c');
      expect(stage.assigns(ip).map(({ node }) => node)).toEqual(['a', 'b', 'c']);
    });

    test('moves the address at once when the provider says that the machine is gone', async () => {
      // Nobody looks at the addresses meanwhile: it is the question about the machine that tells.
      const pool = await carefulPool(current(), LONG, { nodes: ['a', 'b'], flags: ['--verify-interval=1h'] });
      const { stage, ip } = pool;
      loseMachine(pool, 'a');
      await stage.notReady('a');
      expect(await movedFrom(pool, 'a')).toBe('b');
      expect(machinesAskedFor(pool)).toEqual(['a']);
      expect(stage.assigns(ip).map(({ node }) => node)).toEqual(['a', 'b']);
    });

    test('gives the node the rest of its time when the operator is killed, not the whole again', async () => {
      const pool = await carefulPool(current(), { recoveryGraceSeconds: 20 }, { nodes: ['a', 'b'], flags: MORTAL_FLAGS });
      const { stage, ip } = pool;
      await stage.notReady('a');
      const until = await recovering(pool, 'a');
      await killed(pool, 'keeps');
      await untilReason(pool, 'Progressing', 'Recovering');
      expect(await statusOf(pool)).toMatchObject({ state: 'active', nodeName: 'a', graceUntil: new Date(until).toISOString() });
      expect(stage.assigns(ip)).toHaveLength(1);
      expect(await movedFrom(pool, 'a')).toBe('b');
      expect(assignedAt(pool, ip)[1]).toBeGreaterThanOrEqual(until - CLOCKS_MS);
      expect(await recovering(pool, 'a')).toBe(until);
      expect(stage.assigns(ip).map(({ node }) => node)).toEqual(['a', 'b']);
    });

    test('gives the node the same time when Redis has lost all with the operator; a shorter one in the spec ends it', async () => {
      const pool = await carefulPool(current(), LONG, { nodes: ['a', 'b'], flags: MORTAL_FLAGS });
      const { stage, ip } = pool;
      await stage.notReady('a');
      const until = await recovering(pool, 'a');
      await untilReason(pool, 'Progressing', 'Recovering');
      await killed(pool, 'loses');
      await untilReason(pool, 'Progressing', 'Recovering');
      expect((await statusOf(pool)).graceUntil).toBe(new Date(until).toISOString());
      await verified(pool);
      expect(stage.assigns(ip)).toHaveLength(1);
      await stage.editPool('ingress', { recoveryGraceSeconds: 0.5 });
      expect(await movedFrom(pool, 'a')).toBe('b');
    });
  });

// ---------------------------------------------------------------- spec.drainPolicy

const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const TO_BE_DELETED = { key: 'ToBeDeletedByClusterAutoscaler', value: '1760000000', effect: 'NoSchedule' };

/** With every taint tolerated, so that it is the policy alone that speaks against a node. */
const TOLERANT = { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress', tolerations: [{ operator: 'Exists' }] };

const drainScenarios = (current: () => Names) =>
  describe('that drains on cordon', () => {
    test('moves the address of a node that is cordoned, or that the autoscaler is to delete, to a free one while the node works', async () => {
      const pool = await carefulPool(current(), { drainPolicy: 'OnCordon', match: TOLERANT }, { nodes: ['a', 'b'] });
      const { stage, ip } = pool;
      await cordon(stage.target.client, 'a', true);
      expect(await movedFrom(pool, 'a')).toBe('b');
      await untilEvent(pool, 'Draining: a is cordoned');
      await stage.until(
        'the annotation has moved',
        async () => (await stage.annotation('b')) === ip && (await stage.annotation('a')) === null,
      );
      expect(await assignableNodes(pool)).toBe('');

      await cordon(stage.target.client, 'a', false);
      await stage.until('a is free', async () => (await assignableNodes(pool)) === 'a');
      expect(stage.assigns(ip)).toHaveLength(2);
      await setTaints(stage.target.client, 'b', [TO_BE_DELETED]);
      expect(await movedFrom(pool, 'b')).toBe('a');
      // From one to the other, never to nobody.
      expect(holders(pool, ip)).toEqual([null, 'a', 'b', 'a']);
      expect(stage.assigns(ip)).toHaveLength(3);
    });

    test('leaves the address on a cordoned node while no other one is free, and on one that is uncordoned before', async () => {
      const pool = await carefulPool(current(), { drainPolicy: 'OnCordon' }, { nodes: ['a'] });
      const { stage, ip } = pool;
      await cordon(stage.target.client, 'a', true);
      await untilReason(pool, 'Progressing', 'Draining');
      await untilReason(pool, 'Ready', 'AllActive');
      await verified(pool);
      expect([await stage.activeOn('ingress', ip), await stage.annotation('a'), stage.assigns(ip).length]).toEqual(['a', ip, 1]);

      await cordon(stage.target.client, 'a', false);
      await untilReason(pool, 'Progressing', 'Idle');
      await stage.nodes('b');
      await stage.until('b is free', async () => (await assignableNodes(pool)) === 'b');
      await verified(pool);
      expect(stage.assigns(ip)).toHaveLength(1);

      await stage.notReady('b');
      await stage.until('b is not free', async () => (await assignableNodes(pool)) === '');
      await cordon(stage.target.client, 'a', true);
      await untilReason(pool, 'Progressing', 'Draining');
      expect(stage.assigns(ip)).toHaveLength(1);
      await stage.ready('b');
      expect(await movedFrom(pool, 'a')).toBe('b');
      expect(stage.assigns(ip).map(({ node }) => node)).toEqual(['a', 'b']);
    });

    test('is another one: OnNotReady leaves the address on a node that is cordoned, and moves it when that fails', async () => {
      const pool = await carefulPool(current(), { drainPolicy: 'OnNotReady', match: TOLERANT }, { nodes: ['a', 'b'] });
      const { stage, ip } = pool;
      await cordon(stage.target.client, 'a', true);
      await setTaints(stage.target.client, 'a', [UNSCHEDULABLE, TO_BE_DELETED]);
      // Nodes are told in the order of their changes: who has heard of b has heard of a.
      await stage.notReady('b');
      await stage.until('b was seen to fail', async () => (await assignableNodes(pool)) === '');
      await stage.ready('b');
      await stage.until('b is free again', async () => (await assignableNodes(pool)) === 'b');
      await verified(pool);
      expect([await stage.activeOn('ingress', ip), stage.assigns(ip).length]).toEqual(['a', 1]);
      await stage.notReady('a');
      expect(await movedFrom(pool, 'a')).toBe('b');
      expect(stage.assigns(ip)).toHaveLength(2);
    });
  });
