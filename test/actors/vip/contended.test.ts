import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import type { PoolProjection } from '../../../actors/ports/cluster.ts';
import type { VipChange } from '../../../adapters/memory/vip-world.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { SECOND, VipWorld } from './world.ts';

const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const CLOUD = { by: 'digitalocean-cloud-controller-manager' };
const SEGMENT = { segment: '1.1.1.0/29', excludedIPs: [] };
const THEIRS = [{ ip: '203.0.113.80' }];
/** What a Service says that was never served by us. */
const LEFT =
  'the ingress is written by somebody else (digitalocean-cloud-controller-manager), to whom the Service is left: take that one out, or ask for an address of an IPGroup, and it is served';

const world = (vips: NonNullable<ConstructorParameters<typeof VipWorld>[0]>['vips'] = {}): VipWorld => {
  const w = new VipWorld({ vips: { callMs: 10, ...vips } });
  w.k8s.setGroup('g', SEGMENT);
  const { process } = w.cluster;
  vi.spyOn(w.cluster, 'process').mockImplementation(() => {
    const one = process();
    const project = (projection: PoolProjection): void => {
      if (projection.ref.kind === 'IPGroup') shownOf(w).push(projection);
      one.project(projection);
    };
    return { ...one, project };
  });
  return w;
};

/** What is shown of IPGroups, by world, oldest first. */
const shown = new WeakMap<VipWorld, PoolProjection[]>();
const shownOf = (w: VipWorld): PoolProjection[] => {
  const found = shown.get(w) ?? [];
  shown.set(w, found);
  return found;
};

const refOf = (w: VipWorld, name: string): ObjectRef => {
  const found = w.k8s.service('default', name);
  if (!found) throw new Error(`there is no ${name}`);
  return found.ref;
};

const says = (w: VipWorld, name = 'web'): string | undefined => w.k8s.service('default', name)?.contended;
const written = (w: VipWorld, verb = 'publish'): number =>
  w.k8s.writes.filter((each) => each.verb === verb && each.result === 'done' && each.about.endsWith('default/web')).length;

/** What the IPGroup says of Services that are left. */
const groupSays = (w: VipWorld): string | undefined =>
  shownOf(w)
    .at(-1)
    ?.conditions.find(({ type }) => type === 'Contended')?.message;

/** Lists what `answers` says as soon as we have written anything to the status of a Service, by the world's clock. */
function controller(answers: (times: number) => readonly { readonly ip: string | null }[], delayMs = 40) {
  const state = { times: 0, world: null as VipWorld | null, isWriting: false };
  const changed = (change: VipChange): void => {
    const w = state.world;
    if (!w || change.kind !== 'Service' || !change.before || !change.after || state.isWriting) return;
    const { before, after } = change;
    if (before.contended === after.contended && isDeepStrictEqual(before.ingress, after.ingress)) return;
    w.clock.after(delayMs, () => {
      state.isWriting = true;
      w.k8s.setIngress(after.ref, answers(state.times), CLOUD);
      state.isWriting = false;
      state.times += 1;
    });
  };
  return { state, changed };
}

describe('a Service that somebody else serves when we come', () => {
  test.each([
    ['by an address', THEIRS],
    ['by a hostname', [{ ip: null }]],
    ['by several', [{ ip: null }, ...THEIRS]],
  ])('%s is left to him: nothing is reserved or published for it, and it says so, as an Event and its IPGroup do', async (_, ingress) => {
    const w = world();
    w.k8s.setIngress(w.k8s.setService({ name: 'web' }), ingress, CLOUD);
    w.k8s.setService({ name: 'free' });
    await w.start();
    await w.untilListed({ free: '1.1.1.0' });
    await w.clock.advance(3 * MINUTE);
    expect([w.state('web'), w.listed('web'), w.finalizers('web'), Object.keys(w.reserved())]).toEqual([
      'Contended',
      ingress.map(({ ip }) => ip),
      [],
      ['1.1.1.0'],
    ]);
    expect([says(w), w.told('web')]).toEqual([LEFT, [`Contended: ${LEFT}`]]);
    expect(groupSays(w)).toBe('1 Service is left to somebody else, who writes the ingress: default/web');
    expect(w.k8s.writes.filter(({ about }) => about.endsWith('default/web')).map(({ verb }) => verb)).toEqual(['contend']);
  });

  test('is served once that goes away, and says nothing any more', async () => {
    const w = world();
    w.k8s.setIngress(w.k8s.setService({ name: 'web' }), THEIRS, CLOUD);
    await w.start();
    await w.clock.runUntil(() => says(w) !== undefined, 5 * SECOND);
    w.k8s.setIngress(refOf(w, 'web'), [], CLOUD);
    await w.untilListed({ web: '1.1.1.0' }, SECOND);
    await w.clock.runUntil(() => says(w) === undefined, SECOND);
    await w.clock.advance(SECOND);
    expect([w.state('web'), groupSays(w)]).toEqual(['Bound', undefined]);
  });

  test.each<[string, Parameters<VipWorld['k8s']['setService']>[0], string]>([
    ['an address of ours by annotation', { name: 'web', requestedIP: '1.1.1.5' }, '1.1.1.5'],
    ['an address of ours in its spec', { name: 'web', loadBalancerIP: '1.1.1.5' }, '1.1.1.5'],
    ['one of our groups', { name: 'web', pinnedGroup: 'g' }, '1.1.1.0'],
  ])('is served once it asks for %s, once over what stands there', async (_, asks, address) => {
    const w = world();
    w.k8s.setIngress(w.k8s.setService({ name: 'web' }), THEIRS, CLOUD);
    await w.start();
    await w.clock.runUntil(() => says(w) !== undefined, 5 * SECOND);
    w.k8s.setService(asks);
    await w.untilListed({ web: address }, SECOND);
    await w.clock.runUntil(() => says(w) === undefined, SECOND);
    w.k8s.setIngress(refOf(w, 'web'), THEIRS, CLOUD);
    await w.clock.advance(10 * MINUTE);
    expect([w.state('web'), w.listed('web'), written(w), says(w)]).toEqual([
      'Contended',
      ['203.0.113.80'],
      1,
      expect.stringContaining('its address stays reserved'),
    ]);
    // Asking for something else is asking anew.
    w.k8s.setService({ ...asks, requestedIP: '1.1.1.6', loadBalancerIP: '' });
    await w.untilListed({ web: '1.1.1.6' }, SECOND);
  });

  test('is left as well where it asks for an address that none of our groups has: that is for somebody else', async () => {
    const w = world();
    w.k8s.setIngress(w.k8s.setService({ name: 'web', loadBalancerIP: '203.0.113.80' }), THEIRS, CLOUD);
    await w.start();
    await w.clock.advance(2 * MINUTE);
    expect([w.state('web'), w.told('web').length, w.reserved()]).toEqual(['Contended', 1, {}]);
  });

  test('and that is of our class is ours', async () => {
    const w = world({ loadBalancerClass: 'example.com/ours' });
    w.k8s.setIngress(w.k8s.setService({ name: 'web', loadBalancerClass: 'example.com/ours' }), THEIRS, CLOUD);
    await w.start();
    await w.untilListed({ web: '1.1.1.0' });
  });

  test('and bears our finalizer, as the allocator of before put it on such, is let go', async () => {
    const w = world();
    const ref = w.k8s.setService({ name: 'web' });
    w.k8s.setFinalizers(ref, ['ips.paas.org/finalizer', 'service.kubernetes.io/load-balancer-cleanup']);
    w.k8s.setIngress(ref, THEIRS, CLOUD);
    await w.start();
    await w.clock.runUntil(() => w.state('web') === 'Contended', 5 * SECOND);
    expect([w.finalizers('web'), w.listed('web')]).toEqual([['service.kubernetes.io/load-balancer-cleanup'], ['203.0.113.80']]);
  });

  test('and changes its type, or is deleted, is nobody’s business any more', async () => {
    const w = world({ wipesIngress: false });
    const ref = w.k8s.setService({ name: 'web' });
    w.k8s.setIngress(ref, THEIRS, CLOUD);
    await w.start();
    await w.clock.runUntil(() => says(w) !== undefined, 5 * SECOND);
    w.k8s.setService({ name: 'web', type: 'ClusterIP' });
    await w.clock.runUntil(() => w.state('web') === null, 5 * SECOND);
    expect([says(w), w.listed('web')]).toEqual([undefined, ['203.0.113.80']]);
    w.k8s.deleteService(ref);
    await w.untilGone('web', SECOND);
  });

  test('and lists an address that the allocator of before gave it is no stranger’s: it stays served', async () => {
    const w = world();
    const owner = { namespace: 'default', name: 'moved', uid: null };
    w.k8s.setIngress(w.k8s.setService({ name: 'moved' }), [{ ip: '9.9.9.9' }], { by: 'manager' });
    w.k8s.setIP({ name: '9.9.9.9', group: 'gone', owner });
    w.k8s.setIngress(w.k8s.setService({ name: 'bare' }), [{ ip: '1.1.1.4' }], { by: 'manager' });
    w.k8s.setIngress(w.k8s.setService({ name: 'silent' }), [{ ip: '1.1.1.5' }], { by: null });
    await w.start();
    await w.clock.runUntil(() => ['moved', 'bare', 'silent'].every((name) => w.state(name) === 'Bound'), 10 * SECOND);
    expect(w.reserved()).toEqual({ '1.1.1.4': 'default/bare', '1.1.1.5': 'default/silent', '9.9.9.9': 'default/moved' });
    expect(w.k8s.writes.filter(({ verb }) => verb === 'publish')).toEqual([]);
  });
});

describe('a Service that we serve', () => {
  const served = async (vips: Parameters<typeof world>[0] = {}): Promise<VipWorld> => {
    const w = world(vips);
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.0' });
    await w.clock.advance(15 * SECOND);
    return w;
  };

  test('is put right once, and left the second time within an hour, with its address reserved', async () => {
    const w = await served();
    w.k8s.setIngress(refOf(w, 'web'), THEIRS, CLOUD);
    await w.untilListed({ web: '1.1.1.0' }, SECOND);
    expect(w.state('web')).toBe('Bound');
    await w.clock.advance(50 * MINUTE);
    w.k8s.setIngress(refOf(w, 'web'), [{ ip: null }], CLOUD);
    await w.clock.advance(2 * HOUR);
    expect([w.state('web'), w.listed('web'), w.reserved(), written(w)]).toEqual(['Contended', [null], { '1.1.1.0': 'default/web' }, 2]);
    w.k8s.setIngress(refOf(w, 'web'), [], CLOUD);
    await w.untilListed({ web: '1.1.1.0' }, SECOND);
    w.k8s.deleteService(refOf(w, 'web'));
    await w.untilGone('web');
    expect(w.reserved()).toEqual({});
  });

  test('is put right again once an hour has passed', async () => {
    const w = await served();
    for (let time = 1; time <= 3; time += 1) {
      w.k8s.setIngress(refOf(w, 'web'), THEIRS, CLOUD);
      await w.untilListed({ web: '1.1.1.0' }, SECOND);
      await w.clock.advance(HOUR);
    }
    expect(says(w)).toBeUndefined();
  });

  test('and is contended is let go as ever when it is deleted: what others list stays theirs', async () => {
    const w = await served({ wipesIngress: false });
    for (const _ of [1, 2]) {
      w.k8s.setIngress(refOf(w, 'web'), THEIRS, CLOUD);
      await w.clock.advance(5 * SECOND);
    }
    expect(w.state('web')).toBe('Contended');
    w.k8s.setService({ name: 'web', type: 'NodePort' });
    await w.clock.runUntil(() => w.state('web') === null, 5 * SECOND);
    expect([w.listed('web'), w.reserved(), w.finalizers('web'), says(w)]).toEqual([['203.0.113.80'], {}, [], undefined]);
  });

  /** Who it is, what he answers with, and how often the address and the condition are written at most: at first, and within each hour after that. */
  test.each<[string, (times: number) => readonly { readonly ip: string | null }[], readonly [number, number], readonly [number, number]]>([
    ['the same address', () => THEIRS, [2, 1], [0, 0]],
    ['each time another address', (times) => [{ ip: `203.0.113.${times}` }], [2, 1], [0, 0]],
    ['an address and nothing by turns', (times) => (times % 2 === 0 ? THEIRS : []), [4, 3], [3, 3]],
    ['nothing', () => [], [4, 1], [3, 2]],
    ['ours and another one', () => [{ ip: '1.1.1.0' }, ...THEIRS], [2, 1], [0, 0]],
    ['a free address of our group', () => [{ ip: '1.1.1.5' }], [2, 1], [0, 0]],
  ])('by somebody who answers each write with %s is written a few times at most', async (_, answers, atFirst, hourly) => {
    const { state, changed } = controller(answers);
    const w = world({ changed });
    state.world = w;
    w.k8s.setService({ name: 'web' });
    await w.start();
    const writes = (): readonly number[] => [written(w), written(w, 'contend')];
    const within = (most: readonly number[], since: readonly number[] = [0, 0]): boolean =>
      writes().every((count, index) => count - (since[index] ?? 0) <= (most[index] ?? 0));
    await w.clock.advance(30 * MINUTE);
    expect([state.times > 1, within(atFirst)], writes().join()).toEqual([true, true]);
    const before = writes();
    await w.clock.advance(6 * HOUR);
    expect(
      within(
        hourly.map((count) => count * 6),
        before,
      ),
      writes().join(),
    ).toBe(true);
  });

  test.each<[string, (w: VipWorld) => void]>([
    ['with all records', () => {}],
    [
      'without any',
      (w) => {
        w.store.wipe();
        w.queues.wipe();
        w.invariants.forget();
      },
    ],
  ])('and is contended is so to the next leader, %s: nothing is written', async (_, loses) => {
    const w = world();
    for (const name of ['web', 'never']) w.k8s.setService({ name });
    w.k8s.setIngress(refOf(w, 'never'), THEIRS, CLOUD);
    const first = await w.start();
    await w.untilListed({ web: '1.1.1.0' });
    for (const _time of [1, 2]) {
      w.k8s.setIngress(refOf(w, 'web'), THEIRS, CLOUD);
      await w.clock.advance(5 * SECOND);
    }
    await w.clock.runUntil(() => says(w) !== undefined && says(w, 'never') !== undefined, 5 * SECOND);
    const before = w.k8s.writes.length;
    first.kill();
    loses(w);
    await w.start();
    await w.clock.advance(5 * MINUTE);
    expect([w.state('web'), w.state('never'), w.k8s.writes.length]).toEqual(['Contended', 'Contended', before]);
    expect(groupSays(w)).toContain('2 Services are left');
    // And it goes on from there.
    w.k8s.setIngress(refOf(w, 'web'), [], CLOUD);
    await w.untilListed({ web: '1.1.1.0' }, SECOND);
  });

  test('is put right by a leader that remembers nothing, once', async () => {
    const w = await served();
    w.processes.at(0)?.kill();
    w.store.wipe();
    w.queues.wipe();
    w.invariants.forget();
    w.k8s.setIngress(refOf(w, 'web'), THEIRS, CLOUD);
    await w.start();
    await w.untilListed({ web: '1.1.1.0' });
    w.k8s.setIngress(refOf(w, 'web'), THEIRS, CLOUD);
    await w.clock.advance(10 * MINUTE);
    expect([w.state('web'), w.listed('web')]).toEqual(['Contended', ['203.0.113.80']]);
  });

  test('is not taken for contended by watches that are late', async () => {
    const w = world({ watchMs: 20 * SECOND });
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.0' }, MINUTE);
    await w.clock.advance(10 * MINUTE);
    expect([w.state('web'), written(w), written(w, 'contend')]).toEqual(['Bound', 1, 0]);
  });
});

describe('a tenant who may write the status of his Services', () => {
  test('and lists another’s address over and over has it taken out each time, and the other keeps it', async () => {
    const w = world();
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.0' });
    w.k8s.setService({ name: 'thief' });
    await w.untilListed({ thief: '1.1.1.1' });
    for (let time = 0; time < 10; time += 1) {
      w.k8s.setIngress(refOf(w, 'thief'), [{ ip: '1.1.1.0' }], CLOUD);
      await w.untilListed({ thief: '1.1.1.1' }, SECOND);
    }
    expect([w.listed('web'), w.reserved()]).toEqual([['1.1.1.0'], { '1.1.1.0': 'default/web', '1.1.1.1': 'default/thief' }]);
  });

  test('and lists a free address of ours keeps it only until somebody else is given it', async () => {
    const w = world();
    w.k8s.setService({ name: 'thief' });
    await w.start();
    await w.untilListed({ thief: '1.1.1.0' });
    for (const _ of [1, 2]) {
      w.k8s.setIngress(refOf(w, 'thief'), [{ ip: '1.1.1.1' }], CLOUD);
      await w.clock.advance(5 * SECOND);
    }
    expect(w.state('thief')).toBe('Contended');
    w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.1', thief: '1.1.1.0' }, 5 * SECOND);
  });

  test('and leaves all of his to somebody takes no address from anybody, and hinders nobody', async () => {
    const w = world();
    for (let index = 0; index < 50; index += 1) {
      w.k8s.setIngress(w.k8s.setService({ name: `his-${index}` }), [{ ip: `203.0.113.${index}` }], CLOUD);
    }
    await w.start();
    await w.clock.advance(10 * SECOND);
    for (let index = 0; index < 8; index += 1) w.k8s.setService({ name: `web-${index}` });
    await w.clock.runUntil(() => [...Array(8).keys()].every((index) => w.listed(`web-${index}`).length === 1), 5 * SECOND);
    await w.clock.advance(SECOND);
    expect(Object.values(w.reserved()).every((owner) => owner.startsWith('default/web-'))).toBe(true);
    expect(shownOf(w).flatMap(({ events }) => events.filter(({ reason }) => reason === 'Contended'))).toHaveLength(1);
    expect(groupSays(w)).toBe(
      '50 Services are left to somebody else, who writes the ingress: default/his-0, default/his-1, default/his-10 and 47 more',
    );
  });

  test('and says himself that one is contended, or not, changes nothing: it is served, and what is so is said', async () => {
    const w = world();
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.0' });
    w.k8s.setContended(refOf(w, 'web'), 'x'.repeat(100));
    await w.clock.runUntil(() => says(w) === undefined, SECOND);
    expect([w.listed('web'), w.state('web')]).toEqual([['1.1.1.0'], 'Bound']);
  });
});

describe('where only Services of a class are served', () => {
  const CLASS = 'example.com/ours';

  test('those without one are left to others, unless they ask for an address of ours or have one', async () => {
    const w = world({ loadBalancerClass: CLASS, classOnly: true });
    const had = w.k8s.setService({ name: 'had' });
    w.k8s.setFinalizers(had, ['ips.paas.org/finalizer']);
    w.k8s.setIP({ name: '1.1.1.3', group: 'g', owner: { namespace: 'default', name: 'had', uid: had.uid } });
    w.k8s.setIngress(had, [{ ip: '1.1.1.3' }], {});
    w.k8s.setService({ name: 'plain' });
    w.k8s.setService({ name: 'asks', requestedIP: '1.1.1.6' });
    w.k8s.setService({ name: 'classed', loadBalancerClass: CLASS });
    w.k8s.setIngress(w.k8s.setService({ name: 'theirs' }), THEIRS, CLOUD);
    await w.start();
    await w.untilListed({ had: '1.1.1.3', asks: '1.1.1.6', classed: '1.1.1.0' });
    await w.clock.advance(2 * MINUTE);
    expect(['plain', 'theirs'].map((name) => [w.state(name), w.told(name), says(w, name)])).toEqual([
      [null, [], undefined],
      [null, [], undefined],
    ]);
    expect(Object.keys(w.reserved())).toEqual(['1.1.1.0', '1.1.1.3', '1.1.1.6']);
  });
});
