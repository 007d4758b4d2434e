import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { movedFrom, staged } from '../e2e/served.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';
import { isStopped } from '../support/processes.ts';

const PRELOAD = new URL('../support/kill-at.mjs', import.meta.url).href;

/** The process stands still, as on a machine that swaps or a virtual one that is moved, and goes on when others have done its work. */
describe('an operator that is stopped in the moment before it sends an assign', () => {
  const { served } = staged();

  test('sends nothing when it goes on after another one has taken over', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'routedip-frozen-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const armed = join(folder, 'armed');
    const situation = await served(['a', 'b', 'c'], {
      nodeFlags: [`--import=${PRELOAD}`],
      env: { ROUTEDIP_KILL_AT: 'beforeSend', ROUTEDIP_KILL_ABOUT: 'assign ', ROUTEDIP_KILL_BY: 'SIGSTOP', ROUTEDIP_ARMED_BY: armed },
      flags: MORTAL_FLAGS,
    });
    const { stage, ip, holder, operator: first } = situation;
    writeFileSync(armed, '');
    await stage.notReady(holder);
    await stage.until('the first one stands still', () => isStopped(first.pid));
    expect([stage.assigns(ip).length, stage.heldBy(ip)]).toEqual([1, holder]);

    const second = await stage.start({ flags: MORTAL_FLAGS });
    const now = await movedFrom(situation, holder);
    await stage.until('the second one has said that it leads', () => second.log.some(({ msg }) => msg === 'leads'));
    const sent = stage.cloud.calls.select({ writes: true }).length;
    expect(stage.assigns(ip)).toEqual([
      { address: ip, node: holder },
      { address: ip, node: now },
    ]);

    first.kill('SIGCONT');
    const held = () => first.log.filter(({ msg }) => msg === 'a job was not sent');
    await stage.until('the first one says that it has not sent', () => held().length > 0);
    expect(held()[0]).toMatchObject({ jobName: 'assign', error: expect.stringMatching(/lease|lock|too old/) });
    await stage.until('it works on as a replica', async () => (await first.metrics('/readyz')).status === 200);
    expect(stage.cloud.calls.select({ writes: true }).length).toBe(sent);
    expect([stage.heldBy(ip), await stage.activeOn('ingress', ip)]).toEqual([now, now]);
    expect(first.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
