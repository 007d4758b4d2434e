import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../actors/ports/provider.ts';
import type { ProviderID } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { secret, startTestBed, type TestBed } from './support.ts';

const call: Call = { purpose: 'firewall' };
const web = { port: 80, protocol: 'TCP' } as const;
const everybody = { addresses: ['::/0', '0.0.0.0/0'] };

let bed: TestBed;
beforeEach(async () => {
  bed = await startTestBed();
});
afterEach(() => bed.close());

const rule = (ports: string, sources: object = everybody, protocol = 'tcp') => ({ protocol, ports, sources });

async function post(path: string, body: unknown, status: number): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` };
  const reply = await fetch(bed.simulator.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(reply.status, await reply.text()).toBe(status);
  bed.simulator.calls.clear();
}

const createFirewall = (name: string, rules: readonly unknown[], more: object = {}): Promise<void> =>
  post('/v2/firewalls', { name, inbound_rules: rules, ...more }, 202);

const addNode = (tags: readonly string[] = []): ProviderID =>
  `digitalocean://${bed.simulator.addDroplet({ name: 'n', region: 'nyc3', tags }).id}` as ProviderID;
const dropletOf = (node: ProviderID): number => Number(node.slice('digitalocean://'.length));
const ports = async (name: string) => (await bed.provider.findRoutedIPFirewall(name, call))?.ports;
const nodes = async (name: string) => (await bed.provider.findRoutedIPFirewall(name, call))?.nodes;
/** What was asked of the API to change something, as `DELETE /v2/firewalls/<id>/rules`. */
const writes = () =>
  bed.simulator.calls.select({ writes: true }).map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, '<id>')}`);

describe('a DigitalOcean firewall', () => {
  test('shows each rule for one port and for addresses, and one that is open to everybody and to others as open', async () => {
    await post('/v2/tags', { name: 'web' }, 201);
    await createFirewall('front', [
      rule('80'),
      rule('53', { addresses: ['192.0.2.7', '10.0.0.0/8'] }, 'udp'),
      rule('22', { addresses: ['2001:DB8:0::/32'] }),
      rule('443', { ...everybody, tags: ['web'] }),
      rule('444', { addresses: [...everybody.addresses, '10.0.0.0/8'] }),
      rule('445', { addresses: ['0.0.0.0/0'] }),
      rule('446', { addresses: ['10.0.0.0/8'], tags: ['web'] }),
      rule('447', { tags: ['web'] }),
      rule('8000-9000'),
      rule('all'),
      rule('0', everybody, 'icmp'),
    ]);
    const shown = ['tcp/22@2001:db8::/32', 'tcp/443', 'tcp/444', 'tcp/445@0.0.0.0/0', 'tcp/80', 'udp/53@10.0.0.0/8+192.0.2.7/32'];
    expect(await ports('front')).toEqual(shown);
  });

  test('loses exactly the rule that says the port, in the form in which the API has it', async () => {
    const some = { port: 53, protocol: 'UDP', sources: ['10.0.0.0/8', '192.0.2.7/32'] } as const;
    await createFirewall('front', [rule('53', { addresses: ['192.0.2.7', '10.0.0.0/8'] }, 'udp'), rule('53', everybody, 'udp')]);
    await bed.provider.deleteRoutedIPFirewallPort('front', [some], call);
    expect(await ports('front')).toEqual(['udp/53']);
  });

  test('keeps a rule that is open to everybody and to more, by address or by tag', async () => {
    await post('/v2/tags', { name: 'web' }, 201);
    await createFirewall('front', [
      rule('80', { addresses: [...everybody.addresses, '10.0.0.0/8'] }),
      rule('81', { ...everybody, tags: ['web'] }),
    ]);
    const open = await ports('front');
    expect(open).toEqual(['tcp/80', 'tcp/81']);
    await bed.provider.addRoutedIPFirewallPort('front', [web, { ...web, port: 81 }], call);
    await bed.provider.deleteRoutedIPFirewallPort('front', [web, { ...web, port: 81 }], call);
    expect(writes()).toEqual([]);
  });

  test('is changed by adding and removing alone, never by a PUT', async () => {
    const node = addNode();
    await createFirewall('front', [rule('22')], { outbound_rules: [{ protocol: 'icmp', ports: '0', destinations: everybody }] });
    await bed.provider.addRoutedIPFirewallPort('front', [web], call);
    await bed.provider.addRoutedIPFirewallNode('front', [node], call);
    await bed.provider.deleteRoutedIPFirewallPort('front', [web], call);
    await bed.provider.deleteRoutedIPFirewallNode('front', [node], call);
    expect(writes()).toEqual([
      'POST /v2/firewalls/<id>/rules',
      'POST /v2/firewalls/<id>/droplets',
      'DELETE /v2/firewalls/<id>/rules',
      'DELETE /v2/firewalls/<id>/droplets',
    ]);
    const [firewall] = bed.simulator.state.firewalls.values();
    expect(firewall?.outboundRules).toHaveLength(1);
  });

  const cluster = '79b53257-2da0-41d4-9a86-f6d5a1239c39';
  test.each([`k8s-public-access-${cluster}`, `k8s-${cluster}-worker`])('of the cloud controller is left alone: %s', async (name) => {
    await createFirewall(name, [rule('22')]);
    const [id = ''] = bed.simulator.state.firewalls.keys();
    for (const named of [name, id]) {
      const tries = [
        bed.provider.findRoutedIPFirewall(named, call),
        bed.provider.addRoutedIPFirewallPort(named, [web], call),
        bed.provider.addRoutedIPFirewallNode(named, [addNode()], call),
        bed.provider.deleteRoutedIPFirewallPort(named, [web], call),
        bed.provider.deleteRoutedIPFirewallNode(named, [addNode()], call),
      ];
      for (const one of tries) expect(await failure(one)).toMatchObject({ kind: 'Unsupported', message: expect.stringContaining(name) });
    }
    expect(writes()).toEqual([]);
  });

  test.each(['k8s-edge', 'k8s-prod-worker', 'my-k8s-public-access-1'])('of a user may be called %s', async (name) => {
    await createFirewall(name, [rule('22')]);
    await bed.provider.addRoutedIPFirewallPort(name, [web], call);
    expect(await ports(name)).toEqual(['tcp/22', 'tcp/80']);
  });

  test('with no room is not even asked to change, and the error says what to do', async () => {
    const many = Array.from({ length: 30 }, (_, i) => rule(String(1000 + i)));
    const outbound = Array.from({ length: 20 }, (_, i) => ({ protocol: 'udp', ports: String(1000 + i), destinations: everybody }));
    const droplets = Array.from({ length: 10 }, () => dropletOf(addNode()));
    await createFirewall('front', many, { outbound_rules: outbound, droplet_ids: droplets });
    const rules = await failure(bed.provider.addRoutedIPFirewallPort('front', [web], call));
    expect(rules).toMatchObject({ kind: 'Invalid', message: expect.stringMatching(/50 rules and needs 1 more.*allows 50: remove/) });
    const full = await failure(bed.provider.addRoutedIPFirewallNode('front', [addNode()], call));
    expect(full).toMatchObject({ kind: 'Invalid', message: expect.stringMatching(/10 droplets and needs 1 more.*allows 10: tag/) });
    expect(writes()).toEqual([]);
  });

  test('takes no rule for more than a thousand networks', async () => {
    await createFirewall('front', [rule('22')]);
    const sources = Array.from({ length: 1001 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
    const error = await failure(bed.provider.addRoutedIPFirewallPort('front', [{ ...web, sources }], call));
    expect(error).toMatchObject({ kind: 'Invalid', message: expect.stringMatching(/1001 networks.*1000/) });
    await bed.provider.addRoutedIPFirewallPort('front', [{ ...web, sources: sources.slice(1) }], call);
    expect(await ports('front')).toHaveLength(2);
  });

  test('is not asked to lose its last rule, but loses its last port when it has an outbound rule', async () => {
    await createFirewall('front', [rule('80')]);
    const error = await failure(bed.provider.deleteRoutedIPFirewallPort('front', [web], call));
    expect(error).toMatchObject({ kind: 'Invalid', message: expect.stringContaining('last rule') });
    expect(writes()).toEqual([]);
    await createFirewall('back', [rule('80')], { outbound_rules: [{ protocol: 'icmp', ports: '0', destinations: everybody }] });
    await bed.provider.deleteRoutedIPFirewallPort('back', [web], call);
    expect(await ports('back')).toEqual([]);
  });

  test('covers a node from the moment that it bears the tag, and more nodes than it takes by their ids', async () => {
    const tagged = Array.from({ length: 12 }, () => addNode(['k8s:worker']));
    const later = addNode();
    await createFirewall('front', [rule('80')], { tags: ['k8s:worker'] });
    expect(await nodes('front')).toEqual([...tagged].sort());
    bed.simulator.tagDroplet(dropletOf(later), 'k8s:worker');
    expect(await nodes('front')).toEqual([...tagged, later].sort());
    await bed.provider.addRoutedIPFirewallNode('front', [...tagged, later], call);
    expect(writes()).toEqual([]);
  });

  test.each([404, 422])('refuses a droplet that vanished with a %i, which becomes Unavailable and names it', async (code) => {
    const [stays, goes] = [addNode(), addNode()];
    await createFirewall('front', [rule('80')]);
    bed.simulator.removeDroplet(dropletOf(goes));
    bed.simulator.faults.add({ kind: 'status', code, match: { method: 'POST', path: '/droplets' }, times: 1 });
    const error = await failure(bed.provider.addRoutedIPFirewallNode('front', [stays, goes], call));
    expect(error).toMatchObject({ kind: 'Unavailable', message: expect.stringContaining(`droplet ${dropletOf(goes)} does not exist`) });
    expect(error.message).not.toContain(`droplet ${dropletOf(stays)} `);
  });

  test('that vanishes while a node is added is NotFound', async () => {
    const node = addNode();
    await createFirewall('front', [rule('80')]);
    bed.simulator.faults.add({ kind: 'status', code: 404, match: { method: 'POST', path: '/droplets' }, times: 1 });
    expect((await failure(bed.provider.addRoutedIPFirewallNode('front', [node], call))).kind).toBe('NotFound');
  });

  test('that refuses to lose a droplet because it has gone meanwhile is Unavailable', async () => {
    const node = addNode();
    await createFirewall('front', [rule('80')], { droplet_ids: [dropletOf(node)] });
    bed.simulator.faults.add({ kind: 'status', code: 422, match: { method: 'DELETE', path: '/droplets' }, times: 1 });
    bed.simulator.faults.add({ kind: 'status', code: 404, match: { method: 'GET', path: `/droplets/${dropletOf(node)}$` }, times: 1 });
    expect((await failure(bed.provider.deleteRoutedIPFirewallNode('front', [node], call))).kind).toBe('Unavailable');
  });

  test.each([
    [422, 'tag web does not exist', 'Invalid'],
    [422, 'invalid address', 'Invalid'],
    [422, 'Firewall has a pending event.', 'InProgress'],
    [409, 'duplicate name', 'Conflict'],
    [403, 'You are not authorized to perform this operation', 'Unauthorized'],
    [503, 'Service Unavailable', 'Unavailable'],
  ])('that answers %i %s is an error of kind %3$s', async (code, message, kind) => {
    await createFirewall('front', [rule('22')]);
    bed.simulator.faults.add({
      kind: 'status',
      code,
      body: { id: 'x', message, request_id: 'x' },
      match: { method: 'POST', path: '/rules' },
      times: 1,
    });
    const error = await failure(bed.provider.addRoutedIPFirewallPort('front', [web], call));
    expect(error).toMatchObject({ kind, message: expect.stringContaining(message) });
  });

  test('is pending until it succeeded and no droplet waits', async () => {
    const [a, b] = [addNode(), addNode()];
    bed.simulator.setFirewallMs(60_000);
    await createFirewall('front', [rule('80')]);
    const pending = async () => (await bed.provider.findRoutedIPFirewall('front', call))?.pending;
    expect(await pending()).toBe(false);
    await bed.provider.addRoutedIPFirewallNode('front', [a], call);
    expect(await pending()).toBe(true);
    bed.simulator.removeDroplet(dropletOf(a));
    expect(await pending()).toBe(false);
    bed.simulator.setFirewallMs(0);
    await bed.provider.addRoutedIPFirewallNode('front', [b], call);
    expect(await pending()).toBe(false);
  });

  const waiting = { droplet_id: 1, removing: false, status: 'waiting' };
  test.each([
    ['succeeded', [], false],
    ['succeeded', [waiting], true],
    ['waiting', [], true],
    ['failed', [], true],
    ['failed', null, true],
  ])('whose status is %s with the pending changes %j is pending: %s', async (status, pending_changes, pending) => {
    const id = '79b53257-2da0-41d4-9a86-f6d5a1239c39';
    const body = { firewall: { id, name: 'front', status, pending_changes, inbound_rules: null, droplet_ids: null } };
    bed.simulator.faults.add({ kind: 'status', code: 200, body, match: { method: 'GET', path: '/v2/firewalls/' }, times: 1 });
    expect(await bed.provider.findRoutedIPFirewall(id, call)).toEqual({
      id,
      name: 'front',
      ports: [],
      nodes: [],
      pending,
      ...(pending_changes?.length === 1 && { pendingOn: ['digitalocean://1'] }),
      ...(status === 'failed' && { failed: true }),
      otherRules: 0,
      freeRules: 50,
    });
  });
});
