import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { staged } from '../e2e/served.ts';
import { isGuarded, listedBy, Vips } from '../e2e/vip-objects.ts';
import type { Operator } from '../support/operator.ts';

const CLOUD = 'example-cloud-controller-manager';
const LEFT = `the ingress is written by somebody else (${CLOUD}), to whom the Service is left`;

/** A cloud's controller as it might be: whatever else a Service lists, it writes its own address there, each time another one. */
class CloudController {
  /** How often it has written. */
  writes = 0;
  readonly #vips: Vips;
  readonly #name: string;
  #ended = false;
  readonly #over: Promise<void>;

  constructor(vips: Vips, name: string) {
    this.#vips = vips;
    this.#name = name;
    this.#over = this.#run();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#over;
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      const listed = listedBy(await this.#vips.find(this.#name));
      if (listed !== '' && !listed.startsWith('203.0.113.')) {
        this.writes += 1;
        await this.#vips.setIngress(this.#name, [{ ip: `203.0.113.${this.writes}` }], CLOUD);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

describe('a Service that another controller serves, too,', () => {
  const { stage, target } = staged({ audit: true });
  const opened = async (segment: string): Promise<Vips> => {
    const vips = new Vips(stage());
    await vips.group('group', segment);
    return vips;
  };
  /** Writes of the status of this Service by the operator. */
  const writes = (name: string): number =>
    target()
      .operatorWrites()
      .filter((write) => write === `PATCH /api/v1/namespaces/default/services/${name}/status`).length;
  const groupSays = async (vips: Vips): Promise<string | undefined> =>
    (await vips.groupStatus('group'))?.conditions.find(({ type }) => type === 'Contended')?.message;
  const contendedIn = async (operator: Operator): Promise<string | undefined> =>
    /^routedip_machines\{chart="vip-service",state="Contended"\} (\d+)$/m.exec((await operator.metrics()).text)?.[1];
  const clean = async (vips: Vips, ...names: readonly string[]): Promise<void> => {
    for (const name of names) await vips.remove(name);
    await vips.until('all are gone', async () => (await Promise.all(names.map((name) => vips.find(name)))).every((each) => each === null));
    await vips.removeGroup('group');
  };

  test('and has served before is left to it, says so, and is served when it asks, or when that is gone', async () => {
    const vips = await opened('10.7.0.0/29');
    for (const name of ['by-address', 'by-name', 'waits']) await vips.service(name);
    await vips.setIngress('by-address', [{ ip: '203.0.113.80' }], CLOUD);
    await vips.setIngress('by-name', [{ hostname: 'lb.example.com' }], CLOUD);
    const operator = await vips.start();
    await vips.listing('waits', '10.7.0.0');
    for (const name of ['by-address', 'by-name'])
      await vips.until(`${name} says so`, async () => (await vips.contended(name))?.startsWith(LEFT) ?? false);
    expect([await vips.listed('by-address'), await vips.listed('by-name'), await vips.reserved()]).toEqual([
      '203.0.113.80',
      'lb.example.com',
      { '10.7.0.0': 'default/waits' },
    ]);
    await vips.until('an Event says so', async () => (await vips.told()).get('by-name')?.join().startsWith(`Contended: ${LEFT}`) ?? false);
    await vips.until('the group says so', async () => (await groupSays(vips))?.startsWith('2 Services are left') ?? false);
    await vips.until(
      'an Event of the group says so',
      async () => (await vips.toldOfGroups()).get('group')?.join().includes('Contended: ') ?? false,
    );
    expect(await contendedIn(operator)).toBe('2');

    await vips.patch('by-address', { metadata: { annotations: { 'ips.paas.org/requested-ip': '10.7.0.5' } } } as unknown as JsonObject);
    await vips.listing('by-address', '10.7.0.5');
    await vips.setIngress('by-name', [], CLOUD);
    await vips.listing('by-name', '10.7.0.1');
    await vips.until('nothing says so any more', async () => {
      const said = await Promise.all([vips.contended('by-address'), vips.contended('by-name'), groupSays(vips)]);
      return said.every((each) => each == null);
    });
    expect(await contendedIn(operator)).toBe('0');
    await clean(vips, 'by-address', 'by-name', 'waits');
  });

  test('and that writes after each of our writes, is written a few times, and left then, by the next process as well', async () => {
    const vips = await opened('10.7.1.0/29');
    const operator = await vips.start();
    await vips.service('contended');
    const controller = new CloudController(vips, 'contended');
    await vips.until('it says so', async () => (await vips.contended('contended')) !== null);
    const { writes: theirs } = controller;
    const ours = writes('contended');
    // Twice its address, and what it says.
    expect([theirs, ours]).toEqual([2, 3]);
    expect(await vips.contended('contended')).toContain('its address stays reserved');

    // The controller writes on by itself, and others are served: it is looked at, and left.
    for (const name of ['next', 'last']) {
      await vips.setIngress('contended', [{ ip: `203.0.113.2${name.length}` }], CLOUD);
      await vips.service(name);
      await vips.until(`${name} lists an address`, async () => (await vips.listed(name)) !== '');
    }
    expect(await operator.stop()).toBe(0);
    // Without what it remembers, too.
    await vips.start(['--jobs=memory']);
    await vips.service('later');
    await vips.until('later lists an address', async () => (await vips.listed('later')) !== '');
    expect([controller.writes, writes('contended')]).toEqual([theirs, ours]);
    expect((await vips.reserved())['10.7.1.0']).toBe('default/contended');
    await controller.end();

    await vips.setIngress('contended', [], CLOUD);
    await vips.listing('contended', '10.7.1.0');
    await clean(vips, 'contended', 'next', 'last', 'later');
    expect(await vips.reserved()).toEqual({});
  });

  test('costs nobody else anything: with its tenant’s own ingress it has no address of ours, and is deleted as ever', async () => {
    const vips = await opened('10.7.2.0/31');
    for (const name of ['mine', 'hers']) await vips.service(name);
    for (const name of ['mine', 'hers']) await vips.setIngress(name, [{ ip: '203.0.113.99' }], 'kubectl-edit');
    await vips.start();
    for (const name of ['first', 'second']) await vips.service(name);
    await vips.until('both others are served', async () => Object.keys(await vips.reserved()).length === 2);
    expect(Object.values(await vips.reserved()).sort()).toEqual(['default/first', 'default/second']);
    expect(isGuarded(await vips.find('mine'))).toBe(false);
    await clean(vips, 'mine', 'hers', 'first', 'second');
  });

  test('is none where the nodes are no cloud’s; where they are, the start says what is safe, and what is safe leaves Services without a class', async () => {
    const said = (operator: Operator) =>
      operator.log.filter(({ msg }) => msg === 'a cloud may serve the same Services of type LoadBalancer');
    const noticed = async (operator: Operator) => /^services: (.*)$/m.exec((await operator.metrics('/readyz')).text)?.[1];
    await stage().nodes('a');
    const vips = new Vips(stage());
    const operator = await vips.start();
    await vips.until('the log says so', () => said(operator).length === 1);
    expect(said(operator)).toMatchObject([
      { level: 'info', provider: 'digitalocean', message: expect.stringContaining('--load-balancer-class') },
    ]);
    expect(await noticed(operator)).toBeUndefined();
    await vips.group('group', '10.7.3.0/29');
    await vips.until(
      '/readyz says so once there is a group',
      async () => (await noticed(operator))?.includes('--load-balancer-class') ?? false,
    );
    await vips.service('had');
    await vips.listing('had', '10.7.3.0');
    expect(await operator.stop()).toBe(0);

    const safe = await vips.start(['--load-balancer-class=example.com/ours', '--load-balancer-class-only']);
    await vips.service('plain');
    await vips.service('asks', {}, { annotations: { 'ips.paas.org/ipgroup': 'group' } });
    await vips.service('classed', { loadBalancerClass: 'example.com/ours' });
    for (const name of ['asks', 'classed']) await vips.until(`${name} lists an address`, async () => (await vips.listed(name)) !== '');
    expect([await vips.listed('had'), await vips.listed('plain'), isGuarded(await vips.find('plain'))]).toEqual(['10.7.3.0', '', false]);
    expect([said(safe), await noticed(safe)]).toEqual([[], undefined]);
    await clean(vips, 'had', 'plain', 'asks', 'classed');
  });
});
