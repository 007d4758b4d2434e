import { describe, expect, test } from 'vitest';
import { JUDGES, judged } from '../e2e/judged.ts';
import { vipStage } from '../e2e/vip-objects.ts';
import { ipNamed } from '../support/vip-admission.ts';

const OPERATOR = 'system:serviceaccount:routedip-operator:routedip-operator';

describe.each(JUDGES)('an IP, as judged by %s', (judge) => {
  const { vips, target } = vipStage();

  test('is written by the operator alone, also while it is away', async () => {
    const world = vips();
    const { client } = target();
    const byPolicies = judge === 'policies';
    const { flags = [], ...options } = await judged(target(), judge);
    const started = { ...options, flags: ['--controllers=vip', ...flags] };
    const refusalOf = (write: Promise<unknown>): Promise<string> => write.then(() => 'allowed', String);
    const deletion = () => refusalOf(client.delete({ apiVersion: 'paas.org/v1', kind: 'IP', name: '1.1.1.1' }));
    await world.group('ipgroup-1', '1.1.1.0/29', ['1.1.1.0', '1.1.1.7']);

    const first = await world.stage.start(started);
    await first.ready();
    await world.service('web');
    await world.listing('web', '1.1.1.1');
    const allowed = new RegExp(`user \\w+ cannot delete ip objects, only ${OPERATOR} is allowed$`);
    expect(await deletion()).toMatch(allowed);
    expect(await refusalOf(client.create(ipNamed('1.1.1.2')))).toMatch(/cannot create ip objects/);
    const served = () => first.log.find(({ msg }) => msg === 'serves Services of type LoadBalancer');
    await world.until('it has said what it serves', () => served() !== undefined);
    expect(served()?.admission).toBe(byPolicies ? 'policy' : 'webhook');
    expect(await first.stop()).toBe(0);

    expect(await deletion()).toMatch(byPolicies ? allowed : /failed calling webhook "vip\.kb\.io"/);
    await world.service('late');
    const second = await world.stage.start(started);
    await world.listing('late', '1.1.1.2');
    await world.remove('web');
    await world.until('the address is free', async () => Object.keys(await world.reserved()).join() === '1.1.1.2');
    expect([...first.log, ...second.log].filter(({ level }) => level === 'error')).toEqual([]);
    expect([...first.log, ...second.log].map((line) => JSON.stringify(line)).join('\n')).not.toContain('PRIVATE KEY');
  });
});
