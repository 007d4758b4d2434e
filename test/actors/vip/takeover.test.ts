import { describe, expect, test } from 'vitest';
import { SECOND, VipWorld } from './world.ts';

const MINUTE = 60 * SECOND;

const world = (options: ConstructorParameters<typeof VipWorld>[0] = {}): VipWorld => {
  const w = new VipWorld({ vips: { callMs: 10 }, ...options });
  w.k8s.setGroup('g', { segment: '1.1.1.0/24', excludedIPs: ['1.1.1.0'] });
  return w;
};

const wipe = (w: VipWorld): void => {
  w.store.wipe();
  w.queues.wipe();
  w.invariants.forget();
};

describe('an IP whose Service is not there', () => {
  const OWNER = { namespace: 'default', name: 'web', uid: 'uid-of-before' };

  test('is freed after two looks a minute apart', async () => {
    const w = world();
    w.k8s.setIP({ name: '1.1.1.1', owner: OWNER });
    await w.start();
    await w.clock.advance(59 * SECOND);
    expect(w.reserved()).toEqual({ '1.1.1.1': 'default/web' });
    await w.clock.runUntil(() => w.k8s.ips().length === 0, 5 * SECOND);
    await w.clock.advance(SECOND);
    expect([w.state('web'), w.told('web')]).toEqual([null, ['IPReleased: gave 1.1.1.1 back']]);
  });

  test('as the watches have it stays while the API server knows the Service', async () => {
    const w = world();
    w.k8s.setIP({ name: '1.1.1.9', group: 'g', owner: { ...OWNER, uid: null } });
    const process = await w.start();
    await w.clock.advance(SECOND);
    expect(w.state('web')).toBe('Releasing');
    w.vipsOf(process).holdWatches();
    w.k8s.setService({ name: 'web' });
    await w.clock.advance(10 * MINUTE);
    expect([w.reserved(), w.listed('web')]).toEqual([{ '1.1.1.9': 'default/web' }, []]);
    w.vipsOf(process).resumeWatches();
    await w.untilListed({ web: '1.1.1.9' });
  });

  test('is taken up again by a Service that comes in time, when it names no uid', async () => {
    const w = world();
    w.k8s.setIP({ name: '1.1.1.9', group: 'g', owner: { ...OWNER, uid: null } });
    await w.start();
    await w.clock.advance(30 * SECOND);
    w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.9' });
    await w.clock.advance(2 * MINUTE);
    expect(w.reserved()).toEqual({ '1.1.1.9': 'default/web' });
  });

  test('is freed for a Service of the same name that has come since, which gets one of its own', async () => {
    const w = world();
    await w.start();
    const old = w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.1' });
    await w.clock.advance(15 * SECOND);
    // Somebody had no patience.
    w.k8s.deleteService(old);
    w.k8s.setFinalizers(old, []);
    const ref = w.k8s.setService({ name: 'web' });
    expect(ref.uid).not.toBe(old.uid);
    await w.clock.runUntil(() => w.k8s.ips().some(({ owner }) => owner?.uid === ref.uid) && w.state('web') === 'Bound', 10 * SECOND);
    await w.clock.advance(2 * MINUTE);
    expect([w.k8s.ips().map(({ owner }) => owner?.uid), w.listed('web')]).toEqual([[ref.uid], w.k8s.ips().map(({ address }) => address)]);
  });

  test.each<[string, Parameters<VipWorld['k8s']['setIP']>[0]]>([
    ['that a VirtualIP has', { name: '1.1.1.5', legacy: true, owner: { namespace: 'default', name: 'vip', uid: null } }],
    ['that nobody of ours has made', { name: '1.1.1.5' }],
  ])('and %s is left alone', async (_, ip) => {
    const w = world();
    w.k8s.setIP(ip);
    await w.start();
    await w.clock.advance(10 * MINUTE);
    expect([Object.keys(w.reserved()), w.k8s.writes]).toEqual([['1.1.1.5'], []]);
  });
});

describe('a new leader', () => {
  test.each<[string, (w: VipWorld) => void]>([
    ['with all records', () => {}],
    ['without any', wipe],
  ])('%s finds every Service served, and writes nothing', async (_, loses) => {
    const w = world();
    for (let index = 1; index <= 20; index += 1) w.k8s.setService({ name: `s${index}`, ...(index === 7 && { type: 'ClusterIP' }) });
    const first = await w.start();
    await w.clock.runUntil(
      () => w.k8s.ips().length === 19 && w.k8s.services().filter(({ ingress }) => ingress.length > 0).length === 19,
      MINUTE,
    );
    await w.clock.advance(15 * SECOND);
    const [before, ips] = [w.k8s.writes.length, w.k8s.ips()];
    first.kill();
    loses(w);
    await w.start();
    await w.clock.advance(3 * MINUTE);
    expect(w.processes.some(({ supervisor }) => supervisor.leading)).toBe(true);
    expect([w.k8s.writes.length, w.k8s.ips()]).toEqual([before, ips]);
    w.k8s.setService({ name: 's7', type: 'LoadBalancer' });
    await w.clock.runUntil(() => w.listed('s7').length === 1, SECOND);
  });

  test('goes on with the address that was chosen before, even if a lower one is free by now', async () => {
    for (const loses of [() => {}, wipe]) {
      const w = world();
      const low = w.k8s.setService({ name: 'low' });
      const first = await w.start();
      await w.untilListed({ low: '1.1.1.1' });
      w.k8s.faults.always('publish', { kind: 'noConnection' });
      for (const name of ['a', 'b']) w.k8s.setService({ name });
      await w.clock.runUntil(() => w.k8s.ips().length === 3, 5 * SECOND);
      first.kill();
      const ips = w.k8s.ips().filter(({ address }) => address !== '1.1.1.1');
      w.k8s.faults.clear();
      w.k8s.deleteService(low);
      loses(w);
      await w.start();
      await w.untilListed({ a: '1.1.1.2', b: '1.1.1.3' });
      await w.untilGone('low');
      expect(w.k8s.ips()).toEqual(ips);
    }
  });

  test('keeps what was chosen and not yet reserved', async () => {
    const w = world({ vips: { callMs: 10, watchMs: 50 } });
    const low = w.k8s.setService({ name: 'low' });
    const first = await w.start();
    await w.untilListed({ low: '1.1.1.1' });
    w.k8s.faults.always('reserve', { kind: 'noConnection' });
    for (const name of ['a', 'b']) w.k8s.setService({ name });
    await w.clock.advance(2 * SECOND);
    first.kill();
    // Whoever takes over decides before the jobs of before have run.
    w.queues.wipe();
    w.k8s.setFinalizers(low, []);
    w.k8s.deleteService(low);
    w.k8s.removeIP('1.1.1.1');
    w.k8s.faults.clear();
    await w.start();
    await w.clock.runUntil(() => w.listed('a').length === 1 && w.listed('b').length === 1, MINUTE);
    expect([w.listed('a'), w.listed('b')]).toEqual([['1.1.1.2'], ['1.1.1.3']]);
    await w.clock.advance(SECOND);
    const reserved = w.k8s.writes.flatMap(({ verb, result, about }) => (verb === 'reserve' && result === 'done' ? about : []));
    expect(reserved.slice(1).sort()).toEqual(['1.1.1.2 for default/a', '1.1.1.3 for default/b']);
  });
});

describe('why a Service has no address', () => {
  const NONE = 'PoolExhausted: no IP could be allocated';
  const one = (): VipWorld => {
    const w = new VipWorld({ vips: { callMs: 10 } });
    w.k8s.setGroup('g', { segment: '1.1.1.0/24', excludedIPs: ['1.1.1.0/24'] });
    return w;
  };

  test('is told by the next leader when the one that found out died before it was written, and once', async () => {
    const w = one();
    w.k8s.setService({ name: 'web' });
    let killed = false;
    await w.start((point, cell) => {
      killed ||= point === 'afterWrite' && cell === 'vip/default/web' && w.context('web')?.refusal != null;
      return killed;
    });
    await w.clock.advance(SECOND);
    expect([killed, w.told('web')]).toEqual([true, []]);
    await w.start();
    await w.clock.runUntil(() => w.told('web').length > 0, MINUTE);
    await w.clock.advance(10 * MINUTE);
    expect(w.told('web')).toEqual([NONE]);
  });

  test('is told once the API server takes Events again', async () => {
    const w = one();
    await w.start();
    w.cluster.failWrites();
    w.k8s.setService({ name: 'web' });
    await w.clock.advance(10 * SECOND);
    expect([w.context('web')?.refusal?.reason, w.told('web')]).toEqual(['PoolExhausted', []]);
    w.cluster.mendWrites();
    await w.clock.runUntil(() => w.told('web').length > 0, 2 * MINUTE);
    expect(w.told('web')).toEqual([NONE]);
  });
});

test('a thousand Services that have their addresses cost no write at start; those that have none come after', async () => {
  const w = new VipWorld();
  w.k8s.setGroup('g', { segment: '10.0.0.0/16', excludedIPs: [] });
  const waiting = w.k8s.setService({ name: 'waiting' });
  expect(waiting.uid).not.toBe('');
  await w.clock.advance(SECOND);
  for (let index = 0; index < 1000; index += 1) {
    const address = `10.0.${Math.floor(index / 250)}.${index % 250}`;
    const ref = w.k8s.setService({ name: `s${index}` });
    w.k8s.setFinalizers(ref, ['ips.paas.org/finalizer']);
    w.k8s.setIP({ name: address, group: 'g', owner: { namespace: 'default', name: ref.name, uid: ref.uid } });
    w.k8s.setIngress(ref, [{ ip: address }]);
  }
  await w.start();
  await w.untilListed({ waiting: '10.0.0.250' });
  await w.clock.advance(2 * MINUTE);
  expect(w.k8s.writes.map(({ about }) => about)).toEqual([
    'default/waiting',
    '10.0.0.250 for default/waiting',
    '10.0.0.250 for default/waiting',
  ]);
  expect([w.state('s0'), w.state('s999')]).toEqual(['Bound', 'Bound']);
});

test('Services without an IP behind what they list keep it, before one that is older may have it', async () => {
  const w = world();
  w.k8s.setService({ name: 'older' });
  await w.clock.advance(SECOND);
  for (let index = 1; index <= 50; index += 1) w.k8s.setIngress(w.k8s.setService({ name: `s${index}` }), [{ ip: `1.1.1.${index}` }]);
  await w.start();
  await w.untilListed({ older: '1.1.1.51', s1: '1.1.1.1', s50: '1.1.1.50' });
  await w.clock.advance(SECOND);
  expect(Object.keys(w.reserved())).toHaveLength(51);
  expect(w.k8s.writes.filter(({ verb }) => verb === 'publish')).toHaveLength(1);
});

describe('while another allocator may act', () => {
  test('nothing is written, also of what was decided before; afterwards all is served', async () => {
    let mayAct = true;
    const w = world({ vips: { callMs: 10, mayAct: () => mayAct } });
    w.k8s.setService({ name: 'before' });
    const first = await w.start();
    await w.untilListed({ before: '1.1.1.1' });
    w.k8s.faults.always('publish', { kind: 'noConnection' });
    w.k8s.setService({ name: 'between' });
    await w.clock.runUntil(() => w.k8s.ips().length === 2, 5 * SECOND);
    first.kill();
    w.k8s.faults.clear();
    mayAct = false;
    const written = w.k8s.writes.length;
    await w.start();
    w.k8s.setService({ name: 'after' });
    await w.clock.advance(3 * MINUTE);
    expect(w.processes.some(({ supervisor }) => supervisor.leading)).toBe(true);
    expect([w.k8s.writes.length, w.listed('between'), w.listed('after')]).toEqual([written, [], []]);
    mayAct = true;
    await w.untilListed({ before: '1.1.1.1', between: '1.1.1.2', after: '1.1.1.3' }, 2 * MINUTE);
  });
});
