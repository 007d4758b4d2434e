import { describe, expect, test } from 'vitest';
import { vipStage } from '../e2e/vip-objects.ts';

describe('a Service of type LoadBalancer', () => {
  const { vips } = vipStage();

  test('gets the lowest free address of the first group, changes to the one that it asks for, and gives all back', async () => {
    const world = vips();
    await world.group('ipgroup-1', '1.1.1.0/29', ['1.1.1.0', '1.1.1.2', '1.1.1.7']);
    await world.group('ipgroup-2', '1.1.2.0/29', ['1.1.2.0', '1.1.2.1', '1.1.2.5', '1.1.2.7']);
    const operator = await world.stage.start({
      flags: ['--controllers=vip', '--admission=off'],
      env: { RECONCILIATION_INTERVAL_MS: 'abc' },
    });
    await world.service('web');
    await world.listing('web', '1.1.1.1');
    expect(await world.reserved()).toEqual({ '1.1.1.1': 'default/web' });
    await world.patch('web', { spec: { loadBalancerIP: '1.1.2.4' } });
    await world.listing('web', '1.1.2.4');
    await world.until('the former address is free', async () => Object.keys(await world.reserved()).join() === '1.1.2.4');
    await world.patch('web', { spec: { type: 'ClusterIP', loadBalancerIP: null } });
    await world.until('nothing is reserved', async () => Object.keys(await world.reserved()).length === 0);
    await world.until('it is let go', async () => !JSON.stringify(await world.find('web')).includes('ips.paas.org/finalizer'));
    expect(await world.listed('web')).toBe('');
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    const served = () => operator.log.find(({ msg }) => msg === 'serves Services of type LoadBalancer');
    await world.until('it has said what it serves', () => served() !== undefined);
    expect(served()).toMatchObject({ admission: 'off' });
    expect(operator.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toContain(
      'RECONCILIATION_INTERVAL_MS is "abc", which is no whole number of milliseconds above 0: the default is used, 60000',
    );
    expect(await operator.stop()).toBe(0);
  });
});
