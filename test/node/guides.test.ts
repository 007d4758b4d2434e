import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PLATFORM_TOKEN, startPlatform } from '../support/sample-platform.ts';
import { leftBehind } from './install.ts';
import { readGuide } from './reader.ts';
import { type NodeStage, note, openStage, tellOnFailure } from './stage.ts';

/** Which the sample names. */
const SERVICE = { name: 'ingress-nginx-controller', namespace: 'default' };
const POOL_LABEL = 'doks.digitalocean.com/node-pool=ingress';

let stage: NodeStage;

beforeEach(async () => {
  stage = await openStage();
  tellOnFailure(stage);
});
afterEach(() => stage.close());

describe('docs/getting-started.md', () => {
  test('leads from nothing to two failovers and back to nothing', async () => {
    const at = performance.now();
    let opened = 0;
    await readGuide(stage, 'getting-started', {
      hasOwnCloud: true,
      after: async (printed) => {
        const [url] = /^http:\S+$/m.exec(printed) ?? [];
        if (url === undefined) return;
        opened += 1;
        const page = await opens(url);
        expect(page).toContain('<title>RoutedIP Operator</title>');
      },
    });
    note('docs/getting-started.md', at);
    expect(opened).toBe(1);
    expect(await leftBehind(stage)).toEqual([]);
    expect(await stage.kubectl('get', 'nodes', '--selector=node-pool=playground', '--output=name')).toBe('');
  });

  /** As a browser does: the token becomes a cookie. The port may be forwarded a moment later. */
  async function opens(url: string): Promise<string> {
    let text = '';
    await stage.until('the page is there', async () => {
      const first = await fetch(url, { headers: { accept: 'text/html' }, redirect: 'manual' }).catch(() => null);
      const cookie = first?.headers.getSetCookie()[0]?.split(';')[0];
      if (cookie === undefined) return false;
      text = await (await fetch(new URL('/', url), { headers: { cookie } })).text();
      return true;
    });
    return text;
  }
});

describe('docs/on-digitalocean-kubernetes.md', () => {
  test('leads from an account to a failover, and leaves nothing that costs', async () => {
    for (const name of ['ingress-1', 'ingress-2']) {
      await stage.nodes.add(name);
      await stage.kubectl('label', 'node', name, POOL_LABEL);
    }
    const at = performance.now();
    await readGuide(stage, 'on-digitalocean-kubernetes');
    note('docs/on-digitalocean-kubernetes.md', at);
    expect(await leftBehind(stage)).toEqual([]);
    expect(stage.cloud.state.reservedIPs.size).toBe(0);
    expect(stage.cloud.state.deletedIPs).toHaveLength(1);
  });
});

describe('docs/on-your-own-machines.md', () => {
  test('leads from a script to an address that Jobs move', async () => {
    // Of those that may hold an address the youngest is elected, and the API server counts whole seconds.
    await stage.nodes.add('machine-2', { isDroplet: false });
    const second = Math.floor(Date.now() / 1_000);
    await stage.until('the next node is a younger one', () => Math.floor(Date.now() / 1_000) > second);
    await stage.nodes.add('machine-1', { isDroplet: false });
    const spec = { selector: { app: 'ingress' }, ports: [{ name: 'http', port: 80 }] };
    await stage.client.create({ apiVersion: 'v1', kind: 'Service', metadata: SERVICE, spec });
    // What other tests have heard of a RoutedIP of that name.
    await stage.kubectl('delete', 'events', '--field-selector=involvedObject.name=ingress');
    const platform = await startPlatform(process.env.NODE_IP);
    const filledIn = { 'https://platform.example.com': platform.url, 'API_TOKEN=…': `API_TOKEN=${PLATFORM_TOKEN}` };
    try {
      const at = performance.now();
      await readGuide(stage, 'on-your-own-machines', { filledIn });
      note('docs/on-your-own-machines.md', at);
      expect(await leftBehind(stage)).toEqual([]);
      // The class keeps them.
      expect([...platform.addresses.values()].map(({ server }) => server)).toEqual(['machine-2']);
    } finally {
      platform.close();
      await stage.kubectl('delete', 'service', SERVICE.name);
    }
  });
});
