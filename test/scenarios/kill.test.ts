import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { KillPoint } from '../../actors/ports/observers.ts';
import { movedFrom, staged } from '../e2e/served.ts';
import { shareOfScenarios } from '../support/extent.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

const PRELOAD = new URL('../support/kill-at.mjs', import.meta.url).href;

/** How many assigns may have reached the provider in all: one for the start, one for the failover, and a repeat only where the first left no trace. */
const POINTS: Readonly<Record<KillPoint, number>> = {
  beforeWrite: 2,
  afterWrite: 2,
  afterDispatch: 2,
  beforeSend: 2,
  beforeReplyRead: 2,
  afterReply: 2,
};

/** The operator ends by SIGKILL at named points of a failover; the next one brings it to the same end. */
describe('a failover ends on a spare node when its operator is killed', () => {
  const { served } = staged();

  for (const [point, assigns] of shareOfScenarios(Object.entries(POINTS), 2)) {
    test(`at the point ${point}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'routedip-kill-'));
      const armed = join(folder, 'armed');
      const situation = await served(['a', 'b', 'c'], {
        nodeFlags: [`--import=${PRELOAD}`],
        env: { ROUTEDIP_KILL_AT: point, ROUTEDIP_ARMED_BY: armed },
        flags: MORTAL_FLAGS,
      });
      const { stage, ip, holder, operator } = situation;
      writeFileSync(armed, '');
      await stage.notReady(holder);
      await operator.exited;
      expect(operator.signal()).toBe('SIGKILL');
      await stage.start({ flags: MORTAL_FLAGS });
      const now = await movedFrom(situation, holder);
      expect(stage.assigns(ip).length).toBeLessThanOrEqual(assigns);
      expect(stage.assigns(ip).at(-1)).toEqual({ address: ip, node: now });
      expect(stage.cloud.state.reservedIPs.size).toBe(1);
      rmSync(folder, { recursive: true, force: true });
    });
  }
});
