import { describe, expect, test } from 'vitest';
import { staged } from '../e2e/served.ts';
import { Vips } from '../e2e/vip-objects.ts';
import { OPERATOR } from '../support/audits.ts';

const OURS = 'example.com/addresses';

describe('a Service of type LoadBalancer', () => {
  const { stage, target } = staged({ audit: true });

  /** Writes of the status of this Service by the operator. */
  const writes = (name: string) =>
    target()
      .cluster?.auditLog()
      .filter(
        ({ user, verb, objectRef: of }) =>
          user.username === OPERATOR && verb !== 'get' && of?.resource === 'services' && of.subresource === 'status' && of.name === name,
      );

  test('is served when it is of the class of the operator or of none, and left alone when it is of another', async () => {
    const vips = new Vips(stage());
    await vips.group('group', '10.3.0.0/29');
    await vips.service('other', { loadBalancerClass: 'example.com/other' });
    await vips.service('ours', { loadBalancerClass: OURS });
    await vips.service('plain');
    const operator = await vips.start([`--load-balancer-class=${OURS}`]);
    for (const name of ['ours', 'plain']) await vips.until(`${name} lists an address`, async () => (await vips.listed(name)) !== '');
    // The server lets nobody change the class.
    await expect(vips.patch('other', { spec: { loadBalancerClass: OURS } })).rejects.toThrow('may not change once set');
    await vips.service('last');
    await vips.until('the last one lists an address', async () => (await vips.listed('last')) !== '');
    expect(await vips.listed('other')).toBe('');
    expect((await vips.find('other'))?.metadata.finalizers).toBeUndefined();
    expect(Object.values(await vips.reserved()).sort()).toEqual(['default/last', 'default/ours', 'default/plain']);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('has the mode VIP with its address, which the server adds, and is written once for all that', async () => {
    const vips = new Vips(stage());
    await vips.group('modes', '10.4.0.0/29');
    await vips.service('moded');
    await vips.start();
    const ingress = async () => (await vips.find('moded'))?.status?.loadBalancer?.ingress;
    await vips.until('it lists an address', async () => (await ingress()) !== undefined);
    const [entry] = (await ingress()) ?? [];
    expect(entry).toEqual({ ip: expect.stringMatching(/^10\.[34]\.0\.\d$/), ipMode: 'VIP' });

    // Somebody has traffic to it meant for the nodes instead: the address is still ours, and the mode theirs.
    await vips.setIngress('moded', [{ ip: entry?.ip ?? '', ipMode: 'Proxy' }]);
    await vips.service('next');
    await vips.until('the next one lists an address', async () => (await vips.listed('next')) !== '');
    expect(await ingress()).toEqual([{ ip: entry?.ip, ipMode: 'Proxy' }]);
    expect(writes('moded')?.map(({ responseStatus }) => responseStatus?.code)).toEqual([200]);
  });
});
