import { describe, expect, test } from 'vitest';
import type { Call } from '../../actors/ports.ts';
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

    test('that do not exist are NotFound, and none is made', async () => {
      await expectKind(stage.provider.addRoutedIPFirewallPort('front', [web], call), 'NotFound');
      expect(await stage.provider.findRoutedIPFirewall('front', call)).toBe(null);
    });
  });
}
