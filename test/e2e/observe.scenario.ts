import { describe, expect, test } from 'vitest';
import type { Difference } from '../../machines/types.ts';
import type { Operator } from '../support/operator.ts';
import { type Routed, routedStage } from './routed.ts';
import { NODE_PORT } from './routed-objects.ts';
import { Vips } from './vip-objects.ts';
import { digitalOceanZone } from './zones.ts';

const OBSERVES = { flags: ['--observe', '--dashboard-bind-addr=127.0.0.1:0', '--journal-bind-addr=127.0.0.1:0'] };
const STALE = '203.0.113.250';

const served = (operator: Operator, what: string): string =>
  String(operator.log.find(({ msg }) => msg === `serves the ${what}`)?.url ?? '');

/** What it would do, by its dashboard. */
async function planOf(operator: Operator): Promise<readonly Difference[]> {
  const url = served(operator, 'dashboard');
  if (url === '') return [];
  const answer = await fetch(`${url}/api/plan`);
  return ((await answer.json()) as { readonly differences: readonly Difference[] }).differences;
}

/** In the order of a dictionary: what is decided at once is in none. */
const rows = (plan: readonly Difference[]): readonly string[] =>
  plan.map(({ what, subject, from, to }) => `${what} ${subject}: ${from ?? '-'} > ${to ?? '-'}`).sort();

/** A pool with an address on node a and a loose one, both to be published; a pool that lacks an address; a RoutedIP behind a firewall; a Service with an IPGroup. */
async function account(world: Routed) {
  const { stage } = world;
  await stage.nodes('a', 'b', 'c', 'd', 'e');
  const droplet = (name: string) => [...stage.cloud.state.droplets.values()].find((each) => each.name === name)?.id ?? 0;
  const address = (dropletId?: number) => stage.cloud.addReservedIP({ region: 'nyc3', ...(dropletId && { dropletId }) }).ip;
  const [held, loose, bound] = [address(droplet('a')), address(), address()];
  const zone = await digitalOceanZone(stage.cloud, 'example.com');
  zone.add({ type: 'A', name: 'www', data: STALE, ttl: 60 });
  await world.addFirewall();
  await world.setClass('floating');
  await world.service('shop', ['a', 'b', 'c', 'd', 'e']);
  const vips = new Vips(stage);
  await vips.group('observed', '10.6.0.0/29');
  await world.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'web', port: 80 }] },
  });
  await stage.pool('ingress', {
    ips: [held, loose],
    dnsRecordSet: { provider: 'digitalocean', zone: 'example.com', recordName: 'www', ttlSeconds: 60 },
  });
  await stage.pool('lacking', { desiredIPs: 1 });
  await world.routedIP('shop', { routedIP: bound });
  const since = world.lastCall();
  const kube = stage.target.operatorWrites().length;
  const writes = () => [...world.changes(since), ...stage.target.operatorWrites().slice(kube)];
  return { stage, vips, zone, droplet, held, loose, bound, writes };
}

export const observeScenarios = () =>
  describe('an operator that only observes', () => {
    const { routed } = routedStage({ audit: true });

    test('decides all and writes nothing; a crash changes nothing of that; without the flag it does all of it', async () => {
      const world = routed();
      const { stage, vips, zone, droplet, held, loose, bound, writes } = await account(world);
      let operator = await stage.start(OBSERVES);
      const expected = (moved: readonly RegExp[] = []): readonly RegExp[] => [
        /^allocate 10\.6\.0\.0: - > Service default\/web$/,
        new RegExp(`^assign ${loose}: - > [b-e]$`),
        new RegExp(`^assign ${bound}: - > [b-e]$`),
        /^create a new address: - > FloatingIPPool default\/lacking$/,
        ...moved,
        /^open [b-e]: - > firewall edge$/,
        new RegExp(`^open tcp/${NODE_PORT}: - > firewall edge$`),
        new RegExp(`^publish A www\\.example\\.com: (-|${STALE}) > (${held}|${loose})$`),
        new RegExp(`^publish A www\\.example\\.com: (-|${STALE}) > (${held}|${loose})$`),
      ];
      const plans = async (wanted: readonly RegExp[]): Promise<void> => {
        let last: readonly string[] = [];
        const isWanted = async () => {
          last = rows(await planOf(operator));
          return last.length === wanted.length && wanted.every((row) => last.some((each) => row.test(each)));
        };
        await stage.until('it plans what is wanted', isWanted, 60_000).catch((cause: unknown) => {
          throw new Error(`it plans\n${last.join('\n')}`, { cause });
        });
      };
      await plans(expected());
      expect(operator.log.filter(({ observeOnly }) => observeOnly !== true)).toEqual([]);
      expect((await operator.metrics('/readyz')).text).toContain('observe: only observes');
      expect((await operator.metrics()).text).toMatch(/^routedip_withheld_changes\{what="open"\} 2$/m);
      expect(await (await fetch(`${served(operator, 'dashboard')}/api/about`)).json()).toMatchObject({ observes: true });
      const asked = (await (await fetch(`${served(operator, 'journal')}/plan`)).json()) as { differences: readonly Difference[] };
      expect(rows(asked.differences)).toEqual(rows(await planOf(operator)));

      await stage.notReady('a');
      const moves = new RegExp(`^move ${held}: a > [b-e]$`);
      await plans(expected([moves]));
      operator.kill('SIGKILL');
      await operator.exited;
      operator = await stage.start(OBSERVES);
      await plans(expected([moves]));

      // Somebody else does one of them, and something else with another one.
      const to = (await planOf(operator)).find(({ subject }) => subject === loose)?.to ?? '';
      stage.cloud.moveReservedIP(loose, droplet(to));
      zone.add({ type: 'A', name: 'www', data: loose, ttl: 60 });
      await stage.until('these are planned no more', async () => {
        const plan = rows(await planOf(operator));
        return !plan.some((row) => row.startsWith(`assign ${loose}`) || row.endsWith(` > ${loose}`));
      });
      expect(writes()).toEqual([]);
      expect(await operator.stop()).toBe(0);
      expect(writes()).toEqual([]);
      expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);

      await stage.start();
      await stage.until('the pool has both', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
      const published = [`A ${held} 60`, `A ${loose} 60`].sort().join();
      await stage.until('they are published', () => zone.records('www').join() === published);
      await stage.until('the other pool has one', async () => (await stage.getPool('lacking')).spec.ips?.length === 1);
      expect(await world.stable('shop')).toBe(bound);
      await vips.listing('web', '10.6.0.0');
      expect(world.firewall().ports).toEqual(['tcp/22', `tcp/${NODE_PORT}`]);
      expect(world.firewall().nodes).toEqual([stage.heldBy(bound)]);
      expect(stage.heldBy(loose)).toBe(to);
      expect(stage.heldBy(held)).not.toBe('a');
    });
  });
