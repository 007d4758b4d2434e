import { describe, expect, test } from 'vitest';
import type { Inventory } from '../../machines/status/inventory.ts';
import { routedStage } from '../e2e/routed.ts';
import { plugin } from '../support/plugin.ts';

/** What the accounts hold, as a person with kubectl sees it. */
describe('kubectl routedip inventory', () => {
  const { routed: current, served } = routedStage();

  test('shows what the account holds, whose it is, and what a deleted RoutedIP has left behind', async () => {
    const routed = current();
    const flags = ['--verify-interval=2s', '--resync-interval=2s'];
    const { ip, holder, stage, operator } = await served(['a', 'b', 'c'], { flags });
    const free = stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
    const six = stage.cloud.addReservedIP({ region: 'nyc3', family: 6 }).ip;
    await routed.addFirewall();
    await routed.setClass('floating');
    await routed.service('shop', ['a', 'b']);
    await routed.routedIP('shop');
    const address = await routed.stable('shop');
    const { adminKubeconfig } = stage.target;
    const asked = async (...flagged: readonly string[]) => plugin(adminKubeconfig, 'inventory', ...flagged);
    const shown = async (): Promise<Inventory | null> => {
      const { stdout } = await asked('-o', 'json');
      return stdout === '' ? null : (JSON.parse(stdout) as Inventory);
    };
    const standing = async (of: string) => (await shown())?.accounts[0]?.addresses.find((each) => each.address === of)?.standing;
    await stage.until('it shows the RoutedIP', async () => (await standing(address)) === 'claimed');
    // IPv6 addresses are read while a pool has one.
    await stage.pool('six', { ips: [six], match: { nodeLabel: 'pool=nowhere' } });
    await stage.until('it shows the IPv6 address', async () => (await standing(six)) === 'claimed');

    const table = await asked('-o', 'wide');
    expect([table.stderr, table.code]).toEqual(['', 3]);
    if (process.env.SHOW) console.log(table.stdout);
    const { assignedNode } = (await routed.status('shop')) ?? {};
    const machine = 'digitalocean://\\d+';
    for (const line of [
      `digitalocean +${free} +IPv4 +nyc3 +- +- +nobody +- +- +5\\.00 USD`,
      `digitalocean +${six} +IPv6 +nyc3 +- +- +FloatingIPPool default/six +- +- +free`,
      `digitalocean +${ip} +IPv4 +nyc3 +${holder} +${machine} +FloatingIPPool default/ingress +- +- +free`,
      `digitalocean +${address} +IPv4 +nyc3 +${assignedNode} +${machine} +RoutedIP default/shop +RoutedIP default/shop +\\d+[sm] +free`,
      `digitalocean: 4 addresses, 1 orphan that nobody in this cluster claims; 5\\.00 USD a month\\. Read \\d+s ago`,
    ])
      expect(table.stdout).toMatch(new RegExp(`^${line}$`, 'm'));

    await routed.deleteRoutedIP('shop');
    await stage.until('it is an orphan', async () => (await standing(address)) === 'orphan');
    const orphans = await asked('--orphans');
    expect(orphans.stdout).toMatch(new RegExp(`^digitalocean +${address} +${assignedNode} +nobody, made for RoutedIP default/shop `, 'm'));
    expect(orphans.stdout).not.toContain(`${ip} `);
    if (process.env.SHOW) console.log(orphans.stdout);

    await operator.stop();
    expect((await asked()).stdout).toContain(address);
    const elsewhere = await asked('--operator-namespace', 'elsewhere');
    expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('there is no inventory in namespace elsewhere')]);
  });
});
