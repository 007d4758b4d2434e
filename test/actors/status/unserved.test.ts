import { describe, expect, test } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, type OperatorProcess, World } from '../../support/world.ts';
import { RoutedWorld } from '../routedip/world.ts';
import { VipWorld } from '../vip/world.ts';

const SECOND = 1000;
const A = '203.0.113.207';
const B = '203.0.113.208';

function served(world: World): ObjectRef {
  world.nodes(node('a'), node('b'));
  world.address(A);
  return world.pool('ingress', { ips: [A] });
}

const ready = (world: World, ref: ObjectRef) => world.cluster.conditions(ref).find(({ type }) => type === 'Ready');

const told = (world: World) => world.log.filter(({ message }) => /^(an object is|objects are) not served$/.test(message));

const ofPools = (reason: string) => [{ kind: 'FloatingIPPool', reason, count: 1 }];

describe('an object that is not served for ten seconds says why', () => {
  test('while its provider cannot be read, and no more when it was', async () => {
    const world = new World();
    const ref = served(world);
    world.provider.faults.next('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' }, 1000);
    const { supervisor } = await world.start();
    await world.clock.advance(9 * SECOND);
    expect([supervisor.unserved(), ready(world, ref)]).toEqual([[], undefined]);
    await world.clock.advance(5 * SECOND);
    expect(supervisor.unserved()).toEqual(ofPools('ProviderUnread'));
    const message = expect.stringMatching(/^the addresses of digitalocean could not be read yet: /);
    expect(ready(world, ref)).toMatchObject({ status: 'Unknown', reason: 'ProviderUnread', message });
    await world.clock.advance(10 * 60 * SECOND);
    const fields = { object: 'FloatingIPPool default/ingress', reason: 'ProviderUnread', message };
    expect(told(world)).toEqual([{ level: 'warn', message: 'an object is not served', fields }]);

    world.provider.faults.clear();
    await world.untilStates(ref, { [A]: 'active' }, 60 * SECOND);
    await world.clock.advance(2 * SECOND);
    expect([supervisor.unserved(), ready(world, ref)?.status]).toEqual([[], 'True']);
    expect(world.log.filter(({ message }) => message === 'objects are served again')).toHaveLength(1);
  });

  test('while whoever leads does not come to take the records over', async () => {
    const world = new World();
    const ref = served(world);
    const { connect } = world.store;
    world.store.connect = () => ({ ...connect(), openTerm: () => Promise.reject(new Unreachable('a reason')) });
    const { supervisor } = await world.start();
    await world.clock.advance(15 * SECOND);
    expect(supervisor.unserved()).toEqual(ofPools('TakingOver'));
    expect(ready(world, ref)).toMatchObject({ status: 'Unknown', reason: 'TakingOver', message: expect.stringContaining('a reason') });
  });

  test('of Services in figures alone then: thousands of Events would help nobody', async () => {
    const world = new VipWorld({ vips: { callMs: 10 } });
    world.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: [] });
    world.k8s.setService({ name: 'web' });
    const { connect } = world.store;
    world.store.connect = () => ({ ...connect(), openTerm: () => Promise.reject(new Unreachable('a reason')) });
    const { supervisor } = await world.start();
    await world.clock.advance(15 * SECOND);
    expect([supervisor.unserved(), world.cluster.announced]).toEqual([[{ kind: 'Service', reason: 'TakingOver', count: 1 }], []]);
  });

  test('in the log and in figures alone while nobody leads, and to nobody who follows', async () => {
    const world = new World();
    const ref = served(world);
    const [first, second] = [await world.start(), await world.start()];
    await world.untilStates(ref, { [A]: 'active' });
    const others = () => [first, second].filter(({ supervisor }) => !supervisor.leading);
    await world.clock.advance(60 * SECOND);
    expect([others().length, told(world)]).toEqual([1, []]);
    world.store.goDown();
    await world.clock.advance(120 * SECOND);
    expect(others()).toHaveLength(2);
    for (const { supervisor } of others()) expect(supervisor.unserved()).toEqual(ofPools('NoLeader'));
    expect(ready(world, ref)?.status).toBe('True');
    world.store.comeBack();
    await world.clock.advance(30 * SECOND);
    for (const { supervisor } of [first, second]) expect(supervisor.unserved()).toEqual([]);
  });

  test('while a turn of it is not saved, although the store answers others', async () => {
    const world = new World();
    const ref = served(world);
    world.address(B);
    const good = world.pool('good', { ips: [B] });
    const { connect } = world.store;
    let hangs = false;
    world.store.connect = () => {
      const store = connect();
      return {
        ...store,
        save: (write) => (hangs && write.cell === 'pool/default/ingress' ? new Promise(() => undefined) : store.save(write)),
      };
    };
    const { supervisor } = await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    await world.untilStates(good, { [B]: 'active' });
    hangs = true;
    world.cluster.setNode(node(world.holderOf(A) ?? '', { ready: false }));
    await world.clock.advance(15 * SECOND);
    expect(supervisor.unserved()).toEqual(ofPools('TurnPending'));
    expect(ready(world, ref)).toMatchObject({
      status: 'Unknown',
      reason: 'TurnPending',
      message: expect.stringContaining('is being saved'),
    });
    expect(ready(world, good)?.reason).not.toBe('TurnPending');
    expect(world.states(ref)).toEqual({ [A]: 'active' });
  });

  test('while a former one of its name is still let go', async () => {
    const world = new World();
    const former = served(world);
    const { supervisor, cluster } = await world.start();
    await world.untilStates(former, { [A]: 'active' });
    const letGo = holdRetractions(cluster);
    world.cluster.removePool(former);
    const ref = world.pool('ingress', { ips: [A] });
    await world.clock.advance(12 * SECOND);
    expect(supervisor.unserved()).toEqual(ofPools('PredecessorRemains'));
    expect(ready(world, ref)).toMatchObject({
      status: 'Unknown',
      reason: 'PredecessorRemains',
      message: expect.stringContaining('Stopping'),
    });
    letGo();
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(2 * SECOND);
    expect([supervisor.unserved(), ready(world, ref)?.status]).toEqual([[], 'True']);
  });

  test('in the log and in figures alone while its status cannot be written', async () => {
    const world = new World();
    const ref = served(world);
    world.cluster.failWrites();
    const { supervisor } = await world.start();
    await world.clock.advance(15 * SECOND);
    expect([supervisor.unserved(), ready(world, ref), told(world).length]).toEqual([ofPools('NotWritten'), undefined, 1]);
    world.cluster.mendWrites();
    await world.clock.advance(2 * SECOND);
    expect([supervisor.unserved(), ready(world, ref)?.status]).toEqual([[], 'True']);
  });

  test('also when it is another one than was served before, under the same name or of a later generation', async () => {
    const world = new World();
    const ref = served(world);
    const { supervisor } = await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.cluster.lag();
    world.pool('ingress', { ips: [A], desiredIPs: 1 });
    await world.clock.advance(12 * SECOND);
    expect(supervisor.unserved()).toEqual(ofPools('NotWritten'));
    world.cluster.catchUp();
    await world.clock.advance(2 * SECOND);
    expect(supervisor.unserved()).toEqual([]);
  });
});

test('a thousand objects that are not served are told of in one line, and each in its condition', async () => {
  const world = new World();
  world.nodes(node('a'));
  const refs = Array.from({ length: 1000 }, (_, index) => {
    const address = `198.51.${100 + Math.floor(index / 250)}.${(index % 250) + 1}` as Address;
    world.address(address);
    return world.pool(`p${index}`, { ips: [address] });
  });
  world.provider.faults.next('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' }, 1000);
  const { supervisor } = await world.start();
  await world.clock.advance(30 * SECOND);
  expect(supervisor.unserved()).toEqual([{ kind: 'FloatingIPPool', reason: 'ProviderUnread', count: 1000 }]);
  expect(told(world).map(({ message, fields }) => [message, (fields as { count: number }).count])).toEqual([
    ['objects are not served', 1000],
  ]);
  expect(refs.filter((ref) => ready(world, ref)?.reason === 'ProviderUnread')).toHaveLength(1000);
});

/** Nothing that is gone is cleared away until the answer is called. */
function holdRetractions(cluster: OperatorProcess['cluster']): () => void {
  const { retract } = cluster;
  const held = Promise.withResolvers<void>();
  cluster.retract = async (ref, addresses) => {
    await held.promise;
    await retract(ref, addresses);
  };
  return held.resolve;
}

describe('a RoutedIP whose finalizer the API server answers with an error', () => {
  const TROUBLE = { reason: 'APIServerError', message: 'the API server answers with an error: failed calling webhook "x.example.com"' };

  /** A world in which finalizers are neither put on nor taken off while that says so. */
  const unguarded = (isFailing: () => boolean): RoutedWorld => {
    const world = new RoutedWorld();
    world.setClass({});
    world.setNode(node('a'), node('b'));
    world.setWeb('shop', ['a', 'b']);
    world.begins = ({ cluster }) => {
      const { guard, retract } = cluster;
      cluster.guard = (ref) => (isFailing() ? Promise.reject(new Unreachable(TROUBLE.message, { isAnswered: true })) : guard(ref));
      cluster.retract = (ref, addresses) => (isFailing() ? new Promise(() => undefined) : retract(ref, addresses));
      cluster.guardTrouble = () => (isFailing() ? TROUBLE : null);
    };
    return world;
  };
  const counted = ({ supervisor }: OperatorProcess) => supervisor.unserved().map(({ kind, reason }) => `${kind} ${reason}`);

  test('says so before anything is done for it, and is served once it is guarded', async () => {
    let isFailing = true;
    const world = unguarded(() => isFailing);
    const process = await world.start();
    const ref = world.setRoutedIP('shop');
    await world.clock.advance(15 * SECOND);
    expect(ready(world, ref)).toMatchObject({ status: 'Unknown', ...TROUBLE });
    expect([counted(process), world.provider.writes()]).toEqual([['RoutedIP APIServerError'], []]);
    isFailing = false;
    await world.stable(ref);
    await world.clock.advance(2 * SECOND);
    expect([counted(process), ready(world, ref)?.status]).toEqual([[], 'True']);
  });

  test('is counted while it is deleted and stays, and serves on until then', async () => {
    let isFailing = false;
    const world = unguarded(() => isFailing);
    const process = await world.start();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    isFailing = true;
    await world.clock.advance(15 * SECOND);
    expect([counted(process), ready(world, ref)?.status]).toEqual([[], 'True']);
    world.cluster.markDeleting(ref);
    await world.clock.advance(30 * SECOND);
    expect(counted(process)).toEqual(['RoutedIP APIServerError']);
    expect(world.cluster.pool(ref)).not.toBeNull();
  });
});
