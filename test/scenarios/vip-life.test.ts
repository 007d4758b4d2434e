import { describe, expect, test } from 'vitest';
import { isGuarded, sharedVipStage, type Vips } from '../e2e/vip-objects.ts';

const TAKEN = 'failed to allocate specific ip: the requested ip is not available';

/** From this minor version of Kubernetes 1 on, a Service that is not of type LoadBalancer loses the addresses of its status by itself. */
const WIPES_SINCE = 23;

async function minorOf({ stage: { target } }: Vips): Promise<number> {
  const version = await target.cluster?.send('/version');
  return version ? Number.parseInt(version.body.minor, 10) : Number.POSITIVE_INFINITY;
}

/** Whether the API server itself takes the addresses off a Service that changes its type, shown by one that the operator does not serve. */
async function wipes(vips: Vips): Promise<boolean> {
  await vips.service('witness', { type: 'NodePort' });
  await vips.patch('witness', { spec: { type: 'LoadBalancer', loadBalancerIP: 'nobody gives this' } });
  await vips.setIngress('witness', [{ ip: '203.0.113.9' }]);
  await vips.patch('witness', { spec: { type: 'NodePort', loadBalancerIP: null } });
  const left = await vips.listed('witness');
  await vips.remove('witness');
  return left === '';
}

const gone = (vips: Vips, name: string): Promise<void> => vips.until(`${name} is gone`, async () => (await vips.find(name)) === null);

/** What people do to Services that have addresses, or wait for one. */
describe('a Service with an address', () => {
  const { vips } = sharedVipStage('default', async (world) => {
    // The operator has to let go on both sorts of servers; this says which one it is.
    expect(await wipes(world)).toBe((await minorOf(world)) >= WIPES_SINCE);
    await world.group('group', '10.3.0.0/29');
    await world.start();
    for (const name of ['first', 'second', 'third']) {
      await world.service(name);
      await world.until(`${name} lists an address`, async () => (await world.listed(name)) !== '');
    }
  });

  test('is let go when its type changes, whatever the API server leaves in its status, and can be deleted; it gets an address again', async () => {
    expect(await vips().listed('first')).toBe('10.3.0.0');
    for (const type of ['ClusterIP', 'NodePort']) {
      await vips().patch('first', { spec: { type } });
      await vips().until('it is let go', async () => !isGuarded(await vips().find('first')));
      expect([await vips().listed('first'), (await vips().reserved())['10.3.0.0']]).toEqual(['', undefined]);
      await vips().patch('first', { spec: { type: 'LoadBalancer' } });
      await vips().listing('first', '10.3.0.0');
    }
    await vips().patch('first', { spec: { type: 'ClusterIP' } });
    await vips().remove('first');
    await gone(vips(), 'first');
    expect((await vips().reserved())['10.3.0.0']).toBeUndefined();
  });

  test('lists its own again when somebody writes another one into its status; the other one stays whose it is', async () => {
    expect([await vips().listed('second'), await vips().listed('third')]).toEqual(['10.3.0.1', '10.3.0.2']);
    const before = await vips().client.get({ apiVersion: 'paas.org/v1', kind: 'IP', name: '10.3.0.2' });
    for (const ingress of [[{ ip: '10.3.0.2' }], [{ ip: '10.3.0.1' }, { ip: '10.3.0.2' }], [{ hostname: 'elsewhere.example' }], []]) {
      await vips().setIngress('second', ingress);
      await vips().listing('second', '10.3.0.1');
    }
    const after = await vips().client.get({ apiVersion: 'paas.org/v1', kind: 'IP', name: '10.3.0.2' });
    expect([after.metadata.uid, after.metadata.resourceVersion]).toEqual([before.metadata.uid, before.metadata.resourceVersion]);
    expect(await vips().listed('third')).toBe('10.3.0.2');
  });

  test('keeps it while the one that it asks for is another one, says so, and changes when that is free', async () => {
    await vips().patch('second', { spec: { loadBalancerIP: '10.3.0.2' } });
    const keeps = `RequestedIPUnavailable: ${TAKEN}; it keeps 10.3.0.1`;
    await vips().until('an Event says so', () => vips().says('second', keeps));
    expect([await vips().listed('second'), await vips().listed('third')]).toEqual(['10.3.0.1', '10.3.0.2']);
    await vips().remove('third');
    await vips().listing('second', '10.3.0.2');
    await vips().until('the former one is free', async () => Object.keys(await vips().reserved()).join() === '10.3.0.2');
    await vips().patch('second', { spec: { loadBalancerIP: null } });
    await vips().until(
      'that is told, too',
      async () => (await vips().told()).get('second')?.includes('IPReleased: gave 10.3.0.1 back') ?? false,
    );
    expect(await vips().listed('second')).toBe('10.3.0.2');
  });

  test('is never one that waits and is deleted: that leaves nothing; groups that cannot be used are told of, and hinder no other', async () => {
    await vips().group('a-banana', 'banana');
    await vips().group('b-address', '1.1.1.0');
    await vips().group('c-excluded', '10.4.0.0/31', ['10.4.0.0/31']);
    await vips().group('d-unread', '10.5.0.0/29', ['10.5.0.01']);
    await vips().group('e-overlaps', '10.3.0.0/30');
    await vips().service('waits', { loadBalancerIP: '10.4.0.1' });
    await vips().until('it is told so', () => vips().says('waits', `RequestedIPUnavailable: ${TAKEN}`));
    await vips().remove('waits');
    await gone(vips(), 'waits');
    await vips().service('goes-on');
    await vips().listing('goes-on', '10.3.0.0');
    expect(Object.values(await vips().reserved()).sort()).toEqual(['default/goes-on', 'default/second']);
    const reasons = ['a-banana', 'b-address', 'c-excluded', 'd-unread'].map(async (name) => {
      await vips().until(`${name} shows something`, async () => (await vips().groupStatus(name)) !== null);
      const { conditions = [] } = (await vips().groupStatus(name)) ?? {};
      return `${name} ${conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`).join()}`;
    });
    expect(await Promise.all(reasons)).toEqual([
      'a-banana Ready=False InvalidSegment,Stalled=True InvalidSegment',
      'b-address Ready=False InvalidSegment,Stalled=True InvalidSegment',
      'c-excluded Ready=False NoAddresses,Stalled=True NoAddresses',
      'd-unread Ready=False InvalidSegment,Stalled=True InvalidSegment',
    ]);
    const toldOf = async (name: string) => (await vips().toldOfGroups()).get(name)?.join() ?? '';
    await vips().until('Events tell it', async () => (await toldOf('a-banana')) !== '' && (await toldOf('e-overlaps')) !== '');
    expect(await toldOf('a-banana')).toMatch(/^InvalidSegment: .*banana/);
    expect(await toldOf('e-overlaps')).toMatch(/^OverlapsWith: .*group/);
  });
});
