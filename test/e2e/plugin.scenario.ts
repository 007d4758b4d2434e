import { describe, expect, test } from 'vitest';
import { plugin, throughKubectl } from '../support/plugin.ts';
import { forbid } from './rights.ts';
import { routedStage } from './routed.ts';

/** The plugin as its users run it: a process of its own, with their kubeconfig. */
export const pluginScenarios = () =>
  describe('kubectl routedip', () => {
    const { routed: current, served } = routedStage();

    test('shows a pool and a RoutedIP, with kubectl too, and says which right a user lacks', async () => {
      const routed = current();
      const { ip, holder, stage } = await served();
      await routed.addFirewall();
      await routed.setClass('floating');
      await routed.service('shop', ['a', 'b']);
      await routed.routedIP('shop');
      const address = await routed.stable('shop');
      const { assignedNode } = (await routed.status('shop')) ?? {};
      await stage.until('both are ready by their conditions', async () => (await routed.condition('shop', 'Ready'))?.status === 'True');
      const { adminKubeconfig, operatorKubeconfig } = stage.target;

      const shown = await throughKubectl(adminKubeconfig, 'status', '-A');
      expect([shown.stderr, shown.code]).toEqual(['', 0]);
      expect(shown.stdout).toMatch(new RegExp(`^default +floatingippool/ingress +${ip} +${holder} +active `, 'm'));
      expect(shown.stdout).toMatch(new RegExp(`^default +routedip/shop +${address} +${assignedNode} +Stable `, 'm'));
      if (process.env.SHOW) console.log(shown.stdout);

      const elsewhere = await plugin(adminKubeconfig, 'status', '-n', 'nowhere');
      expect([elsewhere.stdout, elsewhere.code]).toEqual([
        'nothing has or wants an address in namespace nowhere (-A looks at all of them)\n',
        0,
      ]);

      const restore = await forbid(stage.target, 'routedips');
      try {
        await stage.until('the right is gone', async () => (await plugin(operatorKubeconfig, 'status', '-A', '-o', 'json')).code === 1);
        const less = await plugin(operatorKubeconfig, 'status', '-A');
        expect(less.stderr).toMatch(/^you may not list routedips: /);
        expect(less.stdout).toContain(ip);
      } finally {
        await restore();
      }
    });
  });
