import { describe, expect, test } from 'vitest';
import type { Call } from '../../actors/ports/provider.ts';
import { expectKind, type Stage } from './provider-harness.ts';

/** Ports and nodes of firewalls. */
export function describeFirewalls(stage: Stage): void {
  describe('firewalls', () => {
    const call: Call = { purpose: 'firewall' };
    const web = { port: 80, protocol: 'TCP' } as const;
    const quic = { port: 443, protocol: 'UDP' } as const;

    test('are found by name, and none is null', async () => {
      const { a } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], [a]);
      const found = await stage.provider.findRoutedIPFirewall('front', call);
      expect(found).toMatchObject({ name: 'front', ports: ['tcp/22'], nodes: [a] });
      expect(await stage.provider.findRoutedIPFirewall('back', call)).toBe(null);
    });

    test('are listed by their names or ids, those that exist', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], [a]);
      await stage.world.addFirewall('side', ['tcp/23'], [b]);
      await stage.world.addFirewall('others', ['tcp/24'], []);
      const id = (await stage.provider.findRoutedIPFirewall('side', call))?.id ?? '';
      const listed = await stage.provider.listRoutedIPFirewalls(['front', 'back', id], call);
      expect([...listed].sort((one, other) => (one.name < other.name ? -1 : 1))).toMatchObject([
        { name: 'front', ports: ['tcp/22'], nodes: [a] },
        { id, name: 'side', ports: ['tcp/23'], nodes: [b] },
      ]);
      expect(await stage.provider.listRoutedIPFirewalls(['back'], call)).toEqual([]);
    });

    test('get and lose ports and nodes, and keep what was there', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], [a]);
      await stage.provider.addRoutedIPFirewallPort('front', [web, quic], call);
      await stage.provider.addRoutedIPFirewallNode('front', [b], call);
      await stage.world.settle();
      const opened = await stage.provider.findRoutedIPFirewall('front', call);
      expect(opened).toMatchObject({ ports: ['tcp/22', 'tcp/80', 'udp/443'], nodes: [a, b].sort(), pending: false });
      await stage.provider.deleteRoutedIPFirewallPort('front', [web], call);
      await stage.provider.deleteRoutedIPFirewallNode('front', [a], call);
      await stage.world.settle();
      expect(await stage.provider.findRoutedIPFirewall('front', call)).toMatchObject({ ports: ['tcp/22', 'udp/443'], nodes: [b] });
    });

    test('tell how many rules they take still, of all that are in them', async () => {
      await stage.world.addFirewall('front', ['tcp/22'], [], { mixed: ['tcp/80'] });
      const free = async () => (await stage.provider.findRoutedIPFirewall('front', call))?.freeRules;
      const before = (await free()) ?? 0;
      await stage.provider.addRoutedIPFirewallPort('front', [quic, web], call);
      expect(await free()).toBe(before - 1);
      const more = Array.from({ length: before }, (_, index) => ({ port: 1000 + index, protocol: 'TCP' as const }));
      await expectKind(stage.provider.addRoutedIPFirewallPort('front', more, call), 'Invalid');
      await stage.provider.addRoutedIPFirewallPort('front', more.slice(1), call);
      expect(await free()).toBe(0);
    });

    test('are written to by the id that finding them told', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], [a]);
      const id = (await stage.provider.findRoutedIPFirewall('front', call))?.id ?? '';
      await stage.provider.addRoutedIPFirewallPort(id, [web], call);
      await stage.provider.addRoutedIPFirewallNode(id, [b], call);
      await stage.provider.deleteRoutedIPFirewallNode(id, [a], call);
      await stage.world.settle();
      expect(await stage.provider.findRoutedIPFirewall('front', call)).toMatchObject({ id, ports: ['tcp/22', 'tcp/80'], nodes: [b] });
    });

    test('are not written to when there is nothing to change', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/80'], [a]);
      const before = stage.world.writes();
      await stage.provider.addRoutedIPFirewallPort('front', [web], call);
      await stage.provider.addRoutedIPFirewallNode('front', [a], call);
      await stage.provider.deleteRoutedIPFirewallPort('front', [quic], call);
      await stage.provider.deleteRoutedIPFirewallNode('front', [b], call);
      expect(stage.world.writes()).toBe(before);
    });

    test('open a port to some sources only, as one rule for them, beside the one for everybody', async () => {
      const { a } = stage.pair();
      const some = { ...web, sources: ['198.51.100.0/24', '10.0.0.0/8'] };
      const six = { ...web, sources: ['2001:db8::/32'] };
      await stage.world.addFirewall('front', ['tcp/22', 'tcp/443@10.0.0.0/8'], [a]);
      await stage.provider.addRoutedIPFirewallPort('front', [web, some, six], call);
      const opened = (await stage.provider.findRoutedIPFirewall('front', call))?.ports;
      expect(opened).toEqual(
        ['tcp/22', 'tcp/443@10.0.0.0/8', 'tcp/80', 'tcp/80@10.0.0.0/8+198.51.100.0/24', 'tcp/80@2001:db8::/32'].sort(),
      );
      await stage.provider.deleteRoutedIPFirewallPort('front', [{ ...some, sources: [...some.sources].reverse() }, web], call);
      const left = (await stage.provider.findRoutedIPFirewall('front', call))?.ports;
      expect(left).toEqual(['tcp/22', 'tcp/443@10.0.0.0/8', 'tcp/80@2001:db8::/32'].sort());
    });

    test('do not get a port a second time whose order of sources differs', async () => {
      await stage.world.addFirewall('front', ['tcp/80@10.0.0.0/8+192.0.2.0/24'], []);
      const before = stage.world.writes();
      await stage.provider.addRoutedIPFirewallPort('front', [{ ...web, sources: ['192.0.2.0/24', '10.0.0.0/8'] }], call);
      expect(stage.world.writes()).toBe(before);
    });

    test('count a port as open that a rule opens to everybody and to others by name, and never close it', async () => {
      await stage.world.addFirewall('front', ['tcp/22'], [], { mixed: ['tcp/80'] });
      const before = stage.world.writes();
      await stage.provider.addRoutedIPFirewallPort('front', [web], call);
      await stage.provider.deleteRoutedIPFirewallPort('front', [web], call);
      expect(stage.world.writes()).toBe(before);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.ports).toEqual(['tcp/22', 'tcp/80']);
    });

    test('close of a port only the rule that says it alone', async () => {
      await stage.world.addFirewall('front', ['tcp/22', 'tcp/80'], [], { mixed: ['tcp/80'] });
      const before = stage.world.writes();
      await stage.provider.deleteRoutedIPFirewallPort('front', [web], call);
      expect(stage.world.writes()).toBe(before + 1);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.ports).toEqual(['tcp/22', 'tcp/80']);
    });

    test('cover nodes that a tag brings in, which are not added and not removed', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], [a], { tagged: [b] });
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.nodes).toEqual([a, b].sort());
      const before = stage.world.writes();
      await stage.provider.addRoutedIPFirewallNode('front', [b], call);
      await stage.provider.deleteRoutedIPFirewallNode('front', [b], call);
      expect(stage.world.writes()).toBe(before);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.nodes).toEqual([a, b].sort());
    });

    test('take 50 rules, foreign ones among them, and no more', async () => {
      const ports = Array.from({ length: 48 }, (_, i) => `tcp/${1000 + i}`);
      await stage.world.addFirewall('front', ports, []);
      const error = await expectKind(stage.provider.addRoutedIPFirewallPort('front', [web, quic], call), 'Invalid');
      expect(error.message).toMatch(/front.* 49 rules.* 2 more.* 50/);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.ports).toEqual([...ports].sort());
      await stage.provider.addRoutedIPFirewallPort('front', [quic], call);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.ports).toContain('udp/443');
      const present = { port: 1000, protocol: 'TCP' } as const;
      await stage.provider.addRoutedIPFirewallPort('front', [present, quic], call);
    });

    test('take ten nodes, besides those that a tag brings in, and no more', async () => {
      const nodes = Array.from({ length: 12 }, () => stage.world.addNode(stage.here)).sort();
      await stage.world.addFirewall('front', ['tcp/22'], nodes.slice(0, 9), { tagged: nodes.slice(11) });
      const error = await expectKind(stage.provider.addRoutedIPFirewallNode('front', nodes.slice(8, 11), call), 'Invalid');
      expect(error.message).toMatch(/front.* 9 .* 2 more.* 10/);
      await stage.provider.addRoutedIPFirewallNode('front', [...nodes.slice(0, 10), ...nodes.slice(11)], call);
      const covered = (await stage.provider.findRoutedIPFirewall('front', call))?.nodes;
      expect(covered).toEqual([...nodes.slice(0, 10), ...nodes.slice(11)].sort());
    });

    test('keep their last rule', async () => {
      await stage.world.addFirewall('front', ['tcp/80', 'udp/443'], [], { others: 0 });
      await stage.provider.deleteRoutedIPFirewallPort('front', [quic], call);
      await expectKind(stage.provider.deleteRoutedIPFirewallPort('front', [web], call), 'Invalid');
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.ports).toEqual(['tcp/80']);
    });

    test('lose their last port when rules of others stay', async () => {
      await stage.world.addFirewall('front', ['tcp/80'], []);
      await stage.provider.deleteRoutedIPFirewallPort('front', [web], call);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.ports).toEqual([]);
    });

    test('do not get a node that vanished after it was looked for: Unavailable names it, nothing is changed', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], []);
      expect(await stage.provider.findNode(b, call)).toBe('present');
      stage.world.removeNode(b);
      const error = await expectKind(stage.provider.addRoutedIPFirewallNode('front', [a, b], call), 'Unavailable');
      expect(error.message).toContain(b.slice(b.lastIndexOf('/') + 1));
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.nodes).toEqual([]);
      await stage.provider.addRoutedIPFirewallNode('front', [a], call);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.nodes).toEqual([a]);
    });

    test('lose a node whose machine is gone, and removing it changes nothing', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], [a, b]);
      stage.world.removeNode(b);
      const before = stage.world.writes();
      await stage.provider.deleteRoutedIPFirewallNode('front', [b], call);
      expect(stage.world.writes()).toBe(before);
      expect((await stage.provider.findRoutedIPFirewall('front', call))?.nodes).toEqual([a]);
    });

    test('are pending from a change on until it is applied', async () => {
      const { a, b } = stage.pair();
      await stage.world.addFirewall('front', ['tcp/22'], [a]);
      await stage.world.settle();
      const pending = async () => (await stage.provider.findRoutedIPFirewall('front', call))?.pending;
      expect(await pending()).toBe(false);
      stage.world.setFirewallMs(600_000);
      await stage.provider.addRoutedIPFirewallNode('front', [b], call);
      expect(await pending()).toBe(true);
      await stage.world.settle();
      expect(await pending()).toBe(false);
      await stage.provider.deleteRoutedIPFirewallPort('front', [web], call);
      expect(await pending()).toBe(false);
    });

    test('that do not exist are NotFound, and none is made', async () => {
      await expectKind(stage.provider.addRoutedIPFirewallPort('front', [web], call), 'NotFound');
      expect(await stage.provider.findRoutedIPFirewall('front', call)).toBe(null);
    });
  });
}
