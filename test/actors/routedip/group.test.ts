import { describe, expect, test } from 'vitest';
import type { JobContext } from '../../../actors/jobs/job.ts';
import { bodyOf } from '../../../actors/jobs/registry.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { JobDriver } from '../../../actors/ports/job-driver.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import { JobsWorld, OLD, YOUNG } from '../kubernetes-jobs/world.ts';
import { GroupWorld } from './group-world.ts';

const FIRST = '192.0.2.1';
const SECOND = '192.0.2.2';
const SECONDS = 1000;
const MINUTE = 60 * SECONDS;

/** A class with the group, and a leader. */
async function opened(change = {}, options = {}) {
  const world = new GroupWorld(options);
  world.group();
  const policy = world.groupClass(change);
  const process = await world.operator();
  return { world, policy, process };
}

const actions = (world: GroupWorld): readonly string[] => world.jobs.actions;

describe('a RoutedIP whose class names an IPGroup', () => {
  test('gets the lowest free address of the group, which a Job assigns and none makes', async () => {
    const { world } = await opened();
    const ref = world.wants('shop');
    await world.stable(ref);
    expect(world.reserved()).toEqual({ [FIRST]: 'RoutedIP web/shop' });
    expect(world.statusOf(ref)).toMatchObject({ routedIP: FIRST, addressOrigin: 'IPGroup' });
    expect(actions(world)).not.toContain('create');
    expect(world.heldBy(FIRST)).toBe('young');
    expect(world.told(ref)).toContain(`AddressCreated: ${FIRST} was taken from IPGroup edge`);
    expect(world.faults()).toEqual([]);
  });

  test('leaves to a Service what that has, and to the next Service what it has', async () => {
    const { world } = await opened();
    world.k8s.setService({ name: 'before' });
    await world.clock.runUntil(() => world.reserved()[FIRST] !== undefined, 10_000);
    const ref = world.wants('shop');
    await world.stable(ref);
    world.k8s.setService({ name: 'after' });
    await world.clock.advance(MINUTE);
    expect(world.reserved()).toEqual({ [FIRST]: 'default/before', [SECOND]: 'RoutedIP web/shop' });
    expect(world.k8s.service('default', 'after')?.ingress, 'nothing is left').toEqual([]);
  });

  test('waits for its turn with the Services: by the age of each, not by who asked first', async () => {
    const { world } = await opened();
    const holders = ['a', 'b'].map((name) => world.k8s.setService({ name }));
    await world.clock.advance(SECONDS);
    for (const name of ['waits', 'waits-too']) world.k8s.setService({ name });
    await world.clock.advance(SECONDS);
    const ref = world.wants('shop');
    const { createdAt = 0 } = world.cluster.pool(ref) ?? {};
    expect(createdAt, 'the RoutedIP is the oldest of all').toBeLessThan(world.k8s.service('default', 'waits')?.createdAt ?? 0);
    await world.untilReason(ref, 'IPGroupExhausted');
    for (const holder of holders) world.k8s.deleteService(holder);
    await world.stable(ref);
    await world.clock.advance(MINUTE);
    expect(world.reserved()).toEqual({ [FIRST]: 'RoutedIP web/shop', [SECOND]: 'default/waits' });
  });

  test('is not given an address while its Service is missing, and keeps none from others', async () => {
    const { world } = await opened();
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'ServiceNotFound', 'Degraded');
    for (const name of ['a', 'b']) world.k8s.setService({ name });
    await world.clock.advance(MINUTE);
    expect(world.reserved()).toEqual({ [FIRST]: 'default/a', [SECOND]: 'default/b' });
  });

  test('that is deleted has its Job undo what was done, then its address is free and serves who waits, at once', async () => {
    const { world } = await opened();
    const first = world.wants('shop');
    await world.stable(first);
    const other = world.wants('other');
    await world.stable(other);
    const waits = world.wants('waits');
    await world.untilReason(waits, 'IPGroupExhausted');
    expect(world.reasonOf(waits, 'Degraded')).toBe('IPGroupExhausted');
    expect(world.told(waits)).toEqual(['IPGroupExhausted: IPGroup edge has no free address']);
    expect(actions(world)).not.toContain('delete');
    await world.deleted(first);
    expect(actions(world)).toContain('delete');
    expect(world.told(first)).toContain(`Released: ${FIRST} is free in IPGroup edge again`);
    const freed = world.clock.monotonic();
    await world.stable(waits);
    expect(world.addressOf(waits)).toBe(FIRST);
    // Jobs of 2 s find and assign it; nothing waits for a next look.
    expect(world.clock.monotonic() - freed).toBeLessThan(10_000);
    expect(world.reasonOf(waits)).toBe('Assigned');
    expect(world.reasonOf(waits, 'Degraded')).toBe('AsExpected');
  });

  test('has its address kept under Retain, for another RoutedIP of its name and for nobody else', async () => {
    const { world } = await opened({ routedIPReclaimPolicy: 'Retain' });
    const first = world.wants('shop');
    await world.stable(first);
    await world.deleted(first);
    expect(world.told(first)).toContain(`Retained: ${FIRST} stays reserved in IPGroup edge`);
    expect(actions(world)).not.toContain('delete');
    await world.clock.advance(10 * MINUTE);
    const other = world.wants('other');
    await world.stable(other);
    expect(world.addressOf(other)).toBe(SECOND);
    const again = world.wants('shop');
    await world.stable(again);
    expect(world.addressOf(again)).toBe(FIRST);
    expect(world.k8s.ips().map(({ address, owner }) => [address, owner?.uid])).toEqual([
      [FIRST, again.uid],
      [SECOND, other.uid],
    ]);
  });

  test('is kept although it was reserved under Delete, when the class says Retain by then', async () => {
    const { world } = await opened();
    const ref = world.wants('shop');
    await world.stable(ref);
    world.groupClass({ routedIPReclaimPolicy: 'Retain' });
    await world.clock.advance(SECONDS);
    await world.deleted(ref);
    await world.clock.advance(10 * MINUTE);
    expect(world.reserved()).toEqual({ [FIRST]: 'RoutedIP web/shop' });
    expect(world.k8s.ips()[0]?.reclaim).toBe('Retain');
  });

  test('is kept when the class says Retain before a Job can begin to undo what was done for it', async () => {
    const { world } = await opened();
    const ref = world.wants('shop');
    await world.stable(ref);
    world.jobs.refused = new ProviderError('Unavailable', 'no Job can be made');
    world.cluster.markDeleting(ref);
    await world.clock.advance(10 * MINUTE);
    world.groupClass({ routedIPReclaimPolicy: 'Retain' });
    world.jobs.refused = null;
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 10 * MINUTE);
    expect(world.k8s.ips().map(({ address, reclaim }) => [address, reclaim])).toEqual([[FIRST, 'Retain']]);
    expect(world.jobs.created.filter(({ request }) => request.action === 'delete')).toEqual([]);
  });

  test('gets exactly the address that it names', async () => {
    const { world } = await opened();
    const ref = world.wants('shop', { routedIP: SECOND });
    await world.stable(ref);
    expect(world.addressOf(ref)).toBe(SECOND);
    expect(world.statusOf(ref).addressOrigin).toBe('IPGroup');
    expect(world.reserved()).toEqual({ [SECOND]: 'RoutedIP web/shop' });
  });

  test.each([
    ['is not of the group', '192.0.2.9', `spec.routedIP 192.0.2.9 is not of IPGroup edge (192.0.2.0/30)`],
    ['is excluded', '192.0.2.3', 'spec.routedIP 192.0.2.3 is excluded by IPGroup edge'],
  ])('and names an address that %s gets none, and says so', async (_, address, message) => {
    const { world } = await opened();
    const ref = world.wants('shop', { routedIP: address });
    await world.untilReason(ref, 'AddressUnavailable');
    await world.clock.advance(10 * MINUTE);
    expect(world.messageOf(ref)).toBe(message);
    expect(world.reserved()).toEqual({});
    expect(actions(world)).toEqual([]);
  });

  test('and names the address of a Service gets none before that is free, and no other meanwhile', async () => {
    const { world } = await opened();
    const service = world.k8s.setService({ name: 'web' });
    await world.clock.runUntil(() => world.reserved()[FIRST] !== undefined, 10_000);
    const ref = world.wants('shop', { routedIP: FIRST });
    await world.untilReason(ref, 'AddressUnavailable');
    expect(world.messageOf(ref)).toBe(`spec.routedIP ${FIRST} of IPGroup edge is somebody's: kubectl get ip shows whose`);
    world.k8s.deleteService(service);
    await world.stable(ref);
    expect(world.reserved()).toEqual({ [FIRST]: 'RoutedIP web/shop' });
  });

  test('takes no address from a younger one that has it already by naming it', async () => {
    const { world } = await opened();
    const older = world.wants('older', { routedIP: '192.0.2.9' });
    await world.untilReason(older, 'AddressUnavailable');
    const younger = world.wants('younger');
    await world.stable(younger);
    world.setRoutedIP('older', { routedIP: FIRST });
    await world.clock.advance(MINUTE);
    expect(world.addressOf(younger)).toBe(FIRST);
    expect(world.statusOf(younger).state).toBe('Stable');
    expect(world.reasonOf(older)).toBe('AddressUnavailable');
  });

  test('says that there is none of that name, and is served when it comes', async () => {
    const world = new GroupWorld();
    world.groupClass();
    await world.operator();
    const ref = world.wants('shop');
    await world.untilReason(ref, 'IPGroupNotFound');
    expect(world.messageOf(ref)).toBe('there is no IPGroup edge');
    world.group([], '192.0.2.0/30', 'another');
    await world.clock.advance(MINUTE);
    expect(world.reserved()).toEqual({});
    world.group();
    await world.stable(ref);
    expect(world.addressOf(ref)).toBe(FIRST);
  });

  test.each([
    ['cannot be read', 'banana', 'IPGroup edge is Invalid: invalid CIDR address: banana'],
    ['is of IPv6', '2001:db8::/126', 'IPGroup edge is of IPv6, and a RoutedIP has an IPv4 address'],
  ])('that %s says so, and is served when the group is put right', async (_, segment, message) => {
    const { world } = await opened();
    world.group([], segment);
    const ref = world.wants('shop');
    await world.untilReason(ref, 'IPGroupInvalid');
    expect(world.messageOf(ref)).toBe(message);
    world.group();
    await world.stable(ref);
    expect(world.addressOf(ref)).toBe(FIRST);
  });

  test('keeps its address when the group shrinks, is Invalid or is deleted, and fails over with it', async () => {
    const { world } = await opened();
    const ref = world.wants('shop');
    await world.stable(ref, 'young');
    world.group([FIRST, SECOND]);
    world.group([], 'banana');
    world.k8s.removeGroup('edge');
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.stable(ref, 'old', MINUTE);
    expect(world.addressOf(ref)).toBe(FIRST);
    expect(world.reserved()).toEqual({ [FIRST]: 'RoutedIP web/shop' });
    await world.deleted(ref);
    expect(world.reserved()).toEqual({});
  });

  test('that no IPGroups are seen says so, and is served once the definitions are installed', async () => {
    const world = new GroupWorld({ vips: { served: false } });
    world.groupClass();
    await world.operator();
    const ref = world.wants('shop');
    await world.untilReason(ref, 'IPGroupNotFound');
    expect(world.messageOf(ref)).toContain('runs without the controller vip');
    world.k8s.install();
    world.group();
    await world.stable(ref);
    expect(world.addressOf(ref)).toBe(FIRST);
  });

  test('whose address went to somebody unseen tries again now and then, and at once when another one is offered', async () => {
    const { world, process } = await opened();
    process.vips?.holdWatches();
    world.k8s.setIP({ name: FIRST, owner: { namespace: 'default', name: 'unseen', uid: 'unseen' }, group: 'edge' });
    const ref = world.wants('shop');
    await world.untilReason(ref, 'CreateFailed');
    await world.clock.advance(30 * SECONDS);
    expect(world.messageOf(ref)).toContain(`IP ${FIRST} is not of RoutedIP web/shop`);
    expect(Object.keys(world.reserved())).toEqual([FIRST]);
    process.vips?.resumeWatches();
    await world.clock.runUntil(() => world.reserved()[SECOND] === 'RoutedIP web/shop', 500);
    await world.stable(ref);
    expect(world.addressOf(ref)).toBe(SECOND);
  });

  test('keeps its address from others when somebody deletes the IP by hand, after a restart too, until it is deleted itself', async () => {
    const { world, process } = await opened();
    const ref = world.wants('shop');
    await world.stable(ref);
    world.k8s.removeIP(FIRST);
    world.k8s.setService({ name: 'first' });
    await world.clock.advance(MINUTE);
    expect(world.reserved()).toEqual({ [SECOND]: 'default/first' });
    process.kill();
    await world.operator();
    world.k8s.setService({ name: 'second' });
    await world.clock.advance(2 * MINUTE);
    expect(world.reserved()).toEqual({ [SECOND]: 'default/first' });
    await world.deleted(ref);
    await world.clock.runUntil(() => world.reserved()[FIRST] === 'default/second', MINUTE);
  });

  test('that is deleted while its address is reserved leaves nothing reserved, even under Retain', async () => {
    const { world } = await opened({ routedIPReclaimPolicy: 'Retain' });
    world.k8s.faults.next('hold', { kind: 'hang', effectAfterMs: 3 * SECONDS });
    const ref = world.wants('shop');
    await world.clock.runUntil(() => world.reserved()[FIRST] !== undefined, 10_000);
    await world.deleted(ref);
    expect(world.reserved()).toEqual({});
  });

  test.each([
    ['before the address is reserved', 'beforeSend', 'store is kept'],
    ['after the address is reserved', 'beforeReplyRead', 'store is kept'],
    ['after the answer', 'afterReply', 'store is kept'],
    ['before the address is reserved', 'beforeSend', 'store is lost'],
    ['after the address is reserved', 'beforeReplyRead', 'store is lost'],
    ['after the answer', 'afterReply', 'store is lost'],
  ] as const)(
    'whose operator ends %s (%s, the %s) gets one address from the next operator, and never a second',
    async (_, point, store) => {
      const world = new GroupWorld();
      world.group();
      world.groupClass();
      let killed = false;
      await world.operator((at, about) => {
        const isIt = !killed && at === point && /hold|reserve |create /.test(about);
        killed ||= isIt;
        return isIt;
      });
      const ref = world.wants('shop');
      await world.clock.runUntil(() => killed, MINUTE);
      const reserved = world.reserved();
      expect(Object.keys(reserved)).toEqual(point === 'beforeSend' ? [] : [FIRST]);
      if (store === 'store is lost') world.store.wipe();
      // What is lower is free by then: who did not look for what it has would take that.
      world.group([], '192.0.2.0/30');
      await world.operator();
      await world.stable(ref, undefined, 5 * MINUTE);
      expect(Object.values(world.reserved())).toEqual(['RoutedIP web/shop']);
      if (point !== 'beforeSend') expect(world.addressOf(ref)).toBe(FIRST);
    },
  );

  test('that somebody let go by hand has its address freed, after two looks a minute apart', async () => {
    const { world } = await opened();
    const ref = world.wants('shop');
    await world.stable(ref);
    await world.forceAway(ref);
    const since = world.clock.monotonic();
    await world.clock.runUntil(() => Object.keys(world.reserved()).length === 0, 10 * MINUTE);
    expect(world.clock.monotonic() - since).toBeGreaterThan(MINUTE);
  });

  test.each([
    ['is still there', 'Delete', true],
    ['is gone, and its address was to be kept', 'Retain', false],
  ] as const)('has no address freed of one that %s', async (_, reclaim, isThere) => {
    const { world, process } = await opened();
    const ref = world.wants('shop');
    await world.stable(ref);
    const owner = { namespace: 'web', name: isThere ? 'shop' : 'nobody', uid: isThere ? ref.uid : 'uid-of-nobody' };
    world.k8s.setIP({ name: SECOND, owner, group: 'edge', reclaim });
    process.kill();
    await world.operator();
    await world.clock.advance(10 * MINUTE);
    expect(world.reserved()[SECOND]).toBeDefined();
  });

  test('has the address of a RoutedIP freed that was gone before anybody came, however that went', async () => {
    const world = new GroupWorld();
    world.group();
    world.k8s.setIP({ name: SECOND, owner: { namespace: 'web', name: 'nobody', uid: 'gone' }, group: 'edge', reclaim: 'Delete' });
    await world.operator();
    await world.clock.advance(30 * SECONDS);
    expect(world.reserved()[SECOND]).toBeDefined();
    await world.clock.runUntil(() => world.reserved()[SECOND] === undefined, 10 * MINUTE);
  });
});

test('a RoutedIP whose class names an IPGroup, where the operator runs without the controller vip, says so and has no address made', async () => {
  const world = new JobsWorld();
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  world.jobClass({ ipGroup: 'edge' });
  const ref = world.setRoutedIP('shop');
  await world.operator();
  await world.untilReason(ref, 'IPGroupNotFound');
  await world.clock.advance(10 * MINUTE);
  expect(world.messageOf(ref)).toBe(
    'no IPGroups are seen: their definitions are not installed, or the operator runs without the controller vip',
  );
  expect(world.jobs.actions).toEqual([]);
});

describe('the job that reserves', () => {
  const ref = { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid: 'uid-shop' };

  /** What the job answers whose RoutedIP is offered FIRST, in a cluster where `held` is reserved for it, whatever a cache may show. */
  async function reserving(held: string | null) {
    const cluster = memoryVipCluster({ clock: virtualClock() });
    cluster.setGroup('edge', { segment: '192.0.2.0/30', excludedIPs: [] });
    const { namespace, name, uid } = ref;
    if (held !== null) cluster.setIP({ name: held, owner: { namespace, name, uid }, group: 'edge', reclaim: 'Delete' });
    const fence = { read: async () => undefined, assertFresh: () => undefined };
    const input = { owner: ref, offer: { address: FIRST, group: 'edge' }, subject: { ipGroup: 'edge', reclaimPolicy: 'Delete' } };
    const context = { input, groups: cluster.process(), fence } as unknown as JobContext<'create'>;
    const result = await bodyOf('create', { jobs: { addresses: true, firewalls: false } as JobDriver })(context);
    return { result, ips: cluster.ips().map(({ address }) => address) };
  }

  test('takes the address that is offered', async () =>
    expect(await reserving(null)).toEqual({ result: { kind: 'done', output: { address: FIRST } }, ips: [FIRST] }));

  test('answers what is reserved already, and reserves no second one', async () =>
    expect(await reserving(SECOND)).toEqual({ result: { kind: 'done', output: { address: SECOND } }, ips: [SECOND] }));
});
