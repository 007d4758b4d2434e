import { describe, expect, test } from 'vitest';
import type { FaultSpec } from '../../simulator/digitalocean/faults.ts';
import { movedFrom, staged } from '../e2e/served.ts';

const ASSIGN = { method: 'POST', path: '/reserved_ips/[^/]+/actions$' };
const READ = { method: 'GET', path: '/reserved_ips' };

interface Case {
  readonly fault: FaultSpec;
  /** Assigns that may have reached the provider for this one failover. */
  readonly assigns: number;
}

const CASES: Readonly<Record<string, Case>> = {
  'answers 429 with Retry-After': {
    fault: { match: ASSIGN, kind: 'status', code: 429, headers: { 'Retry-After': '1' }, times: 1 },
    assigns: 2,
  },
  'answers 500': { fault: { match: ASSIGN, kind: 'status', code: 500, times: 1 }, assigns: 2 },
  'answers 503': { fault: { match: ASSIGN, kind: 'status', code: 503, times: 1 }, assigns: 2 },
  'has a pending event for the droplet': { fault: { match: ASSIGN, kind: 'pendingEvent', times: 2 }, assigns: 3 },
  'hangs longer than the call may take': { fault: { match: ASSIGN, kind: 'hang', ms: 20_000, times: 1 }, assigns: 2 },
  'breaks the connection before the effect': { fault: { match: ASSIGN, kind: 'resetBefore', times: 1 }, assigns: 2 },
  'breaks the connection after the effect': { fault: { match: ASSIGN, kind: 'resetAfter', times: 1 }, assigns: 1 },
  'shows what was true a second ago': { fault: { match: READ, kind: 'staleReads', ms: 1000, times: 4 }, assigns: 1 },
  'never knows the action that it started': { fault: { kind: 'actionNotFound' }, assigns: 1 },
  'starts an action that ends in an error': { fault: { match: ASSIGN, kind: 'actionErrored', times: 1 }, assigns: 2 },
  'refuses its token for a moment': { fault: { match: ASSIGN, kind: 'status', code: 401, times: 1 }, assigns: 2 },
};

/** What a provider may do to a failover. Each ends by itself once the fault does, with one owner at any time. */
describe('a failover while the provider', () => {
  const { served } = staged();

  for (const [what, { fault, assigns }] of Object.entries(CASES)) {
    test(`${what} ends on a spare node`, async () => {
      const situation = await served();
      const { stage, ip, holder, operator } = situation;
      const handle = stage.cloud.faults.add(fault);
      const before = stage.assigns(ip).length;
      await stage.notReady(holder);
      const now = await movedFrom(situation, holder);
      if (fault.kind !== 'actionNotFound') expect(handle.hits).toBeGreaterThan(0);
      expect(stage.assigns(ip).length - before).toBeLessThanOrEqual(assigns);
      expect(stage.assigns(ip).at(-1)).toEqual({ address: ip, node: now });
      const owners = stage.cloud.state.history(ip).map(({ dropletId }) => dropletId);
      expect(owners.filter((owner, index) => owner !== null && owner === owners[index - 1])).toEqual([]);
      expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    });
  }

  test('shows no Droplet to the token moves nothing, and says which scope is missing', async () => {
    const { stage, ip, holder, operator } = await served();
    expect(await operator.stop()).toBe(0);
    const handle = stage.cloud.faults.add({ kind: 'lacksScope', scope: 'droplet:read' });
    const before = stage.assigns(ip).length;
    const next = await stage.start();
    await stage.until('the status says which', async () =>
      ((await stage.getPool('ingress')).status?.error ?? '').includes('the token lacks the scope droplet:read'),
    );
    expect((await next.metrics('/readyz')).text).toContain('the token lacks the scope droplet:read');
    expect([stage.assigns(ip).length, stage.heldBy(ip)]).toEqual([before, holder]);
    handle.remove();
    await stage.notReady(holder);
    await stage.until('it is on the other node', async () => ![null, holder].includes(await stage.activeOn('ingress', ip)), 60_000);
  });

  test('says that its quota is reached leaves the others alone and creates what is missing once there is room', async () => {
    const { stage, ip } = await served();
    stage.cloud.setReservedIPQuota(1);
    await stage.editPool('ingress', { desiredIPs: 2 });
    await stage.until('status.error says so', async () =>
      ((await stage.getPool('ingress')).status?.error ?? '').startsWith('creating new ip with provider: '),
    );
    expect(await stage.activeOn('ingress', ip)).not.toBeNull();
    stage.cloud.setReservedIPQuota(5);
    await stage.until('both are active', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    const { status } = await stage.getPool('ingress');
    expect(status?.error).toBeUndefined();
    expect(stage.cloud.state.reservedIPs.size).toBe(2);
  });

  test('loses the answer to a creation adopts the address instead of creating another', async () => {
    const { stage } = await served();
    const handle = stage.cloud.faults.add({ match: { method: 'POST', path: '/reserved_ips$' }, kind: 'resetAfter', times: 1 });
    await stage.editPool('ingress', { desiredIPs: 2 });
    await stage.until('both are active', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    expect(handle.hits).toBe(1);
    expect(stage.cloud.state.reservedIPs.size).toBe(2);
  });

  test('is told to move an address by hand puts it back at the next verification, also without a spare node', async () => {
    const { stage, ip, holder } = await served(['a']);
    stage.cloud.moveReservedIP(ip, null);
    await stage.until('it is put back', () => stage.heldBy(ip) === holder);
    const foreign = stage.cloud.addDroplet({ name: 'foreign', region: 'nyc3' });
    await stage.until('it is active again', async () => (await stage.activeOn('ingress', ip)) === holder);
    stage.cloud.moveReservedIP(ip, foreign.id);
    await stage.until('it is taken back', () => stage.heldBy(ip) === holder);
  });
});
