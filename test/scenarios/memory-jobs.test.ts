import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { movedFrom, type Served, staged } from '../e2e/served.ts';
import type { OperatorOptions } from '../support/operator.ts';

const PRELOAD = new URL('../support/kill-at.mjs', import.meta.url).href;

/** Without Redis, nor the address of one. Nobody else contends for the Lease, so that a busy machine may be late. */
const IN_MEMORY: Partial<OperatorOptions> = { redisUrl: '', flags: ['--jobs=memory', '--leader-elect=false'] };

/** The next process, once it leads and has shown so in the status. */
const successor = async ({ stage }: Served) => {
  const term = (await stage.getPool('ingress')).status?.term ?? 0;
  const next = await stage.start(IN_MEMORY);
  await stage.until('the next one leads', () => next.log.some(({ msg }) => msg === 'leads'));
  await stage.until('the next one has written the status', async () => ((await stage.getPool('ingress')).status?.term ?? 0) > term);
  return next;
};

/** An operator that keeps its records and jobs in memory. */
describe('without Redis', () => {
  const { served } = staged();

  test('an address moves when its node fails, and a restart after SIGKILL finds everything where it is', async () => {
    const situation = await served(['a', 'b', 'c'], {
      ...IN_MEMORY,
      flags: [...(IN_MEMORY.flags ?? []), '--dashboard-bind-addr=127.0.0.1:0'],
    });
    const { stage, operator, ip, holder } = situation;
    await operator.ready();
    const said = () => operator.log.find(({ msg }) => msg === 'serves the dashboard');
    await stage.until('it has said where its dashboard is', () => said() !== undefined);
    const dashboard = said();
    expect(dashboard).not.toHaveProperty('jobs');
    expect(await (await fetch(`${dashboard?.url}/api/about`)).json()).toMatchObject({
      links: {},
      notes: ['jobs in memory: no job dashboard'],
    });
    expect((await fetch(`${dashboard?.url}/jobs`)).status).toBe(404);

    await stage.notReady(holder);
    const now = await movedFrom(situation, holder);
    await stage.until(
      'its node is annotated',
      async () => (await stage.annotation(now)) === ip && (await stage.annotation(holder)) === null,
    );
    expect(stage.assigns(ip).map(({ node }) => node)).toEqual([holder, now]);
    operator.kill('SIGKILL');
    await operator.exited;
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);

    const writes = stage.cloud.calls.select({ writes: true }).length;
    const next = await successor(situation);
    await stage.until('the address is active', async () => (await stage.activeOn('ingress', ip)) === now);
    expect([stage.heldBy(ip), stage.cloud.calls.select({ writes: true }).length]).toEqual([now, writes]);
    await stage.notReady(now);
    await movedFrom(situation, now);
    expect(stage.assigns(ip)).toHaveLength(3);
    expect(await next.stop()).toBe(0);
    expect(next.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('an assign that was sent by a process that is killed is not sent again by the next one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'routedip-memory-'));
    const armed = join(folder, 'armed');
    const situation = await served(['a', 'b', 'c'], {
      ...IN_MEMORY,
      nodeFlags: [`--import=${PRELOAD}`],
      env: { ROUTEDIP_KILL_AT: 'beforeReplyRead', ROUTEDIP_KILL_ABOUT: 'assign ', ROUTEDIP_ARMED_BY: armed },
    });
    const { stage, operator, ip, holder } = situation;
    writeFileSync(armed, '');
    await stage.notReady(holder);
    await operator.exited;
    expect(operator.signal()).toBe('SIGKILL');
    // Written before it was sent: no lag of the status can have kept it back.
    const shown = (await stage.getPool('ingress')).status?.ips?.[ip];
    const sent = stage.assigns(ip).at(-1);
    expect(stage.assigns(ip)).toHaveLength(2);
    expect(shown).toMatchObject({ machineState: 'Assigning', electedNode: sent?.node });
    await successor(situation);
    expect(await movedFrom(situation, holder)).toBe(sent?.node);
    expect(stage.assigns(ip)).toHaveLength(2);
    rmSync(folder, { recursive: true, force: true });
  });
});
