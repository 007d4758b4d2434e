import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { JUDGES, judged } from '../e2e/judged.ts';
import { MigrationWatch } from '../e2e/migration-watch.ts';
import { isGuarded, type Vips, vipStage } from '../e2e/vip-objects.ts';
import { objectsIn } from '../support/kube-apply.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

const at = (file: string): string => join(import.meta.dirname, '../..', file);
const ADDRESS = '1.1.2.2';
const SEGMENT = { segment: '1.1.2.0/29', excludedIPs: ['1.1.2.0', '1.1.2.1', '1.1.2.5', '1.1.2.7'] };
const CLONE = 'shop-keepalived-clone';
const OWNER = 'virtualips.paas.il/owner';
const STAGES = [
  'Migrating: preparing for migration',
  'Migrating: reassociating IP object',
  'Migrating: cleaning up',
  'Migrating: converting service',
  'Migrating: assigning original IP',
];
const NO_GROUP = `could not get IPGroup object of IP: IPGroup not found for ${ADDRESS}`;

interface Status {
  readonly state?: string;
  readonly message?: string;
  readonly ip?: string;
}

const virtualIP = (name: string) => ({ apiVersion: 'paas.org/v1', kind: 'VirtualIP', namespace: 'default', name });

const statusOf = async ({ client }: Vips, name = 'shop'): Promise<Status> => {
  const found = await client.get(virtualIP(name)).catch(() => null);
  return (found?.status ?? {}) as Status;
};

const showing = (vips: Vips, state: string, message?: string): Promise<void> =>
  vips.until(`it shows ${state}`, async () => {
    const status = await statusOf(vips);
    return status.state === state && (message === undefined || status.message === message);
  });

const createAll = async ({ client }: Vips, file: string): Promise<void> => {
  for (const object of objectsIn(at(file))) await client.create(object as unknown as JsonObject);
};

/** The cluster of somebody who has VirtualIPs, as the allocator before left it, with the roles that belong to these. */
const legacyCluster = async (vips: Vips): Promise<void> => {
  const { client } = vips;
  await createAll(vips, 'deploy/virtual-ips.yaml');
  for (const plural of ['virtualips', 'groupsegmentmappings']) {
    await createAll(vips, `crds/legacy/${plural}.yaml`);
    await vips.until(`${plural} are served`, () =>
      client.list('paas.org/v1', plural === 'virtualips' ? 'VirtualIP' : 'GroupSegmentMapping').then(
        () => true,
        () => false,
      ),
    );
  }
  const spec = { ...SEGMENT, keepalivedGroup: 'group2' };
  await client.create({
    apiVersion: 'paas.org/v1',
    kind: 'GroupSegmentMapping',
    metadata: { name: 'keepalived-2' },
    spec,
  } as unknown as JsonObject);
  await vips.service('web', { type: 'ClusterIP' });
  const { namespace, name } = virtualIP('shop');
  await client.create({
    apiVersion: 'paas.org/v1',
    kind: 'VirtualIP',
    metadata: { namespace, name },
    spec: { service: 'web' },
  } as unknown as JsonObject);
};

describe.each(JUDGES)('a VirtualIP, as judged by %s', (judge) => {
  const { vips, target } = vipStage();

  test('is served once its kind is installed, moves to its Service through every stage without an outage, whoever leads, and can be deleted', async () => {
    const world = vips();
    const { client } = world;
    const first = await world.start();
    await first.ready();
    await legacyCluster(world);
    await showing(world, 'Valid', 'successfully allocated an IP address');
    expect(await statusOf(world)).toMatchObject({ ip: ADDRESS });
    expect(await world.reserved()).toEqual({ [ADDRESS]: 'default/shop' });
    expect((await world.find(CLONE))?.spec).toMatchObject({ type: 'ClusterIP', externalIPs: [ADDRESS] });
    expect(await first.stop()).toBe(0);

    // From here on every write of an IP or a VirtualIP is judged, those of the operator too.
    const { flags = [], ...options } = await judged(target(), judge);
    const start = () => world.stage.start({ ...options, flags: ['--controllers=vip', ...MORTAL_FLAGS, ...flags] });
    const second = await start();
    await second.ready();
    const watch = new MigrationWatch(world.stage.target, 'shop', ADDRESS);
    onTestFinished(() => watch.close());
    await watch.start();
    await world.until('its copy is seen to serve', () => watch.serving.includes(CLONE));

    // Without an IPGroup it can go no further; who leads ends there, and another one goes on.
    await client.patch(virtualIP('shop'), { metadata: { annotations: { 'virtualips.paas.org/migrate': '' } } });
    await showing(world, 'Migrating: reassociating IP object', NO_GROUP);
    const refusalOf = (write: Promise<unknown>): Promise<string> => write.then(() => 'allowed', String);
    const changed = (change: JsonObject): Promise<string> => refusalOf(client.patch(virtualIP('shop'), change));
    expect(await changed({ metadata: { annotations: { 'virtualips.paas.org/migrate': null } } })).toContain(
      'VirtualIP migration can not be stopped',
    );
    expect(await changed({ spec: { service: 'other' } })).toContain('can not change service once migration has begun');
    expect(await changed({ spec: { ip: '1.1.2.3' } })).toContain('.spec.ip is immutable');
    const another = {
      apiVersion: 'paas.org/v1',
      kind: 'VirtualIP',
      metadata: { namespace: 'default', name: 'another' },
      spec: { service: 'web' },
    };
    expect(await refusalOf(client.create(another as unknown as JsonObject))).toContain('VirtualIP resource is deprecated');
    const told = async (reason: string) =>
      (await client.list('v1', 'Event', { namespace: 'default' })).filter(
        (event) => event.reason === reason && (event.involvedObject as { kind?: string } | undefined)?.kind === 'VirtualIP',
      ).length;
    // What it has not written yet of stages that are behind is told by nobody else.
    await world.until('its two stages are told in Events', async () => (await told('MigrationStage')) >= 2);
    second.kill('SIGKILL');
    await second.exited;
    const third = await start();
    await world.group('ipgroup-2', SEGMENT.segment, SEGMENT.excludedIPs);
    await showing(world, 'Migrated', 'VirtualIP has been migrated');

    await world.listing('web', ADDRESS);
    await world.until('its copy is gone', async () => (await world.find(CLONE)) === null);
    await world.until('the Service is guarded', async () => isGuarded(await world.find('web')));
    const ip = await client.get({ apiVersion: 'paas.org/v1', kind: 'IP', name: ADDRESS });
    expect([ip.metadata.labels, ip.metadata.annotations]).toEqual([{ ipgroup: 'ipgroup-2' }, { [OWNER]: 'default/web' }]);
    const web = await world.find('web');
    expect([web?.spec.type, web?.spec, web?.metadata.annotations ?? {}]).toEqual([
      'LoadBalancer',
      expect.not.objectContaining({ loadBalancerIP: expect.anything() }),
      {},
    ]);
    expect(await statusOf(world)).toEqual({ state: 'Migrated', message: 'VirtualIP has been migrated', ip: ADDRESS, service: 'web' });
    await world.until('all of it was seen', () => watch.shown.at(-1) === 'Migrated: VirtualIP has been migrated');
    const order = watch.shown
      .map((line) => STAGES.find((stage) => line.startsWith(`${stage}: `)))
      .filter((state, index, all) => state && state !== all[index - 1]);
    expect(order, watch.shown.join(' | ')).toEqual(STAGES);
    // First the copy, then both, then the Service alone; never nobody. Each kind is told of by a watch of its own.
    await world.until('the end of its copy was seen', () => watch.serving.at(-1) === 'web');
    expect(watch.serving.slice(watch.serving.indexOf(CLONE))).toEqual([CLONE, `${CLONE},web`, 'web']);
    await world.until('it is told in Events', async () => (await told('Migrated')) > 0 && (await told('MigrationStage')) >= STAGES.length);
    await world.until('and why it could not go on', async () => (await told('MigrationBlocked')) > 0);

    await client.delete(virtualIP('shop'));
    await world.until('it is gone', async () => (await client.get(virtualIP('shop')).catch(() => null)) === null);
    await world.service('next');
    await world.listing('next', '1.1.2.3');
    expect(await world.reserved()).toEqual({ [ADDRESS]: 'default/web', '1.1.2.3': 'default/next' });
    expect(await world.listed('web')).toBe(ADDRESS);
    await world.remove('web');
    await world.until('the address is free', async () => Object.keys(await world.reserved()).join() === '1.1.2.3');
    expect([...first.log, ...second.log, ...third.log].filter(({ level }) => level === 'error')).toEqual([]);
  });
});
