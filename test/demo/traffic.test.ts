import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Greeter, type Prober, startGreeter, startProber } from '../../demo/traffic.ts';
import { type DigitalOceanSimulator, startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { waitFor } from '../support/wait-for.ts';

const [A, B] = [11, 12];
const ADDRESS = '203.0.113.7';

describe('connections to a port of an address are counted', () => {
  let cloud: DigitalOceanSimulator;
  let greeters: readonly Greeter[];
  let prober: Prober;
  const down = new Set<number>();
  /** How long a move takes: until the test lets it end. */
  const HOUR_MS = 3_600_000;
  let passedMs = 0;
  beforeEach(async () => {
    down.clear();
    passedMs = 0;
    const now = () => performance.timeOrigin + performance.now() + passedMs;
    cloud = await startDigitalOcean({ actionMs: HOUR_MS, firewallMs: 0, now });
    greeters = await Promise.all(['a', 'b'].map(startGreeter));
    for (const [index, id] of [A, B].entries()) {
      cloud.addDroplet({ id, name: `droplet-${id}`, region: 'nyc3' });
      cloud.network.listeners.set(id, 80, greeters[index]?.port ?? 0);
    }
    cloud.addReservedIP({ ip: ADDRESS, region: 'nyc3', dropletId: A });
    prober = await startProber({ cloud, address: ADDRESS, port: 80, isDown: (droplet) => down.has(droplet) });
    await counts('answered');
  });
  afterEach(async () => {
    await prober.stop();
    for (const greeter of greeters) greeter.close();
    await cloud.close();
  });

  const counts = (what: 'answered' | 'inTransit' | 'nodeDown' | 'refused') => {
    const before = prober.row[what];
    return waitFor(`${what} is counted`, () => prober.row[what] >= before + 5);
  };
  const call = async (path: string, body: object) => {
    const headers = { authorization: 'Bearer token', 'content-type': 'application/json' };
    const reply = await fetch(`${cloud.url}/v2/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(reply.ok, path).toBe(true);
  };

  test('as in transit while the address is, and as answered before and after, with the name of who does', async () => {
    expect(prober.row.by).toBe('a');
    await call(`reserved_ips/${ADDRESS}/actions`, { type: 'assign', droplet_id: B });
    await counts('inTransit');
    passedMs += HOUR_MS;
    await waitFor('the new holder answers', () => prober.row.by === 'b');
    const { inTransit } = prober.row;
    await counts('answered');
    expect(prober.row).toMatchObject({ by: 'b', nodeDown: 0, refused: 0, inTransit });
  });

  test('as lost with the node while that is down', async () => {
    down.add(A);
    cloud.network.listeners.remove(A, 80);
    await counts('nodeDown');
    expect(prober.row).toMatchObject({ by: '', inTransit: 0, refused: 0 });
  });

  test('as refused when a firewall is in the way, or nobody listens on a node that is up, with the reason', async () => {
    const sources = { addresses: ['0.0.0.0/0'] };
    await call('firewalls', { name: 'nodes', inbound_rules: [{ protocol: 'tcp', ports: '22', sources }], droplet_ids: [A] });
    await counts('refused');
    expect(prober.row).toMatchObject({ by: '', inTransit: 0, nodeDown: 0, reason: 'closed by firewall' });
    await call('firewalls', { name: 'front', inbound_rules: [{ protocol: 'tcp', ports: '80', sources }], droplet_ids: [A] });
    await counts('answered');
    cloud.network.listeners.remove(A, 80);
    await counts('refused');
    expect(prober.row.reason).toBe('nobody listens there');
  });
});
