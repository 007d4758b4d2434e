import { describe, expect, test } from 'vitest';
import type { FaultSpec } from '../../simulator/digitalocean/faults.ts';
import { movedFrom, type Served, staged } from '../e2e/served.ts';

const LISTS = { method: 'GET', path: '^/v2/(reserved_ips|droplets|firewalls)\\?' };
const ONE = { method: 'GET', path: '/reserved_ips/[^/?]+$' };

/** How DigitalOcean's API, or what stands before it, may differ from its description for as long as the operator runs. */
const MODES: Readonly<Record<string, readonly FaultSpec[]>> = {
  'has small pages, shuffled, with an item twice, and fails on big ones': [
    { kind: 'smallPages', max: 2 },
    { kind: 'shuffledPages', match: LISTS },
    { kind: 'failBigPages', over: 60 },
  ],
  'counts one item too few': [{ kind: 'wrongTotal', by: -1 }],
  'counts one item too many': [{ kind: 'wrongTotal', by: 1 }],
  'has an action status that nobody has heard of': [{ kind: 'actionStatus', status: 'unheard-of' }],
  'says "new" of actions that are over': [{ kind: 'actionStatus', status: 'new' }],
  'sends its answers in pieces, ends each connection and refuses whoever does not say who asks': [
    { kind: 'dripBody', ms: 5 },
    { kind: 'closeConnection' },
    { kind: 'needsUserAgent' },
  ],
  'has a clock that is an hour ahead': [{ kind: 'clockOff', ms: 3_600_000 }],
  'has a clock that is an hour behind': [{ kind: 'clockOff', ms: -3_600_000 }],
  'is behind a proxy that answers some requests with a page of its own': [
    { kind: 'status', code: 403, headers: { 'content-type': 'text/html' }, body: '<html>Forbidden</html>', match: ONE, times: 2 },
    { kind: 'status', code: 404, headers: { 'content-type': 'text/html' }, body: '<html>Not Found</html>', match: LISTS, times: 2 },
  ],
};

describe('an API that differs from its description', () => {
  const { served } = staged();

  for (const [what, faults] of Object.entries(MODES)) {
    test(`${what}: the next leader begins, and a failover ends on a spare node`, async () => {
      const situation: Served = await served();
      const { stage, ip, holder, operator } = situation;
      for (let more = 0; more < 4; more += 1) stage.cloud.addReservedIP({ region: 'nyc3' });
      expect(await operator.stop()).toBe(0);
      for (const fault of faults) stage.cloud.faults.add(fault);
      await stage.start();
      await stage.notReady(holder);
      const now = await movedFrom(situation, holder);
      expect(stage.assigns(ip).at(-1)).toEqual({ address: ip, node: now });
      const unhit = stage.cloud.faults.list().filter(({ hits }) => hits === 0);
      expect(unhit.map(({ spec }) => spec)).toEqual([]);
    });
  }

  test('knows an address of a prefix of the account only while it is on a Droplet: it is assigned, and fails over', async () => {
    const { stage, holder } = await served(['a', 'b', 'c']);
    stage.cloud.addPrefix({ prefix: '198.51.100.0/24', region: 'nyc3' });
    const brought = '198.51.100.7';
    await stage.pool('brought', { ips: [brought] });
    await stage.until('it is active', async () => (await stage.activeOn('brought', brought)) !== null);
    const on = stage.heldBy(brought) ?? '';
    expect(on).not.toBe(holder);
    await stage.notReady(on);
    await stage.until('it is active elsewhere', async () => ![null, on].includes(await stage.activeOn('brought', brought)), 60_000);
    await stage.pool('stranger', { ips: ['198.51.101.7'] });
    await stage.until('one of no prefix is not found', async () =>
      JSON.stringify((await stage.getPool('stranger')).status ?? {}).includes('could not be found'),
    );
  });
});
