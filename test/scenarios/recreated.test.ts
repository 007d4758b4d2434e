import { describe, expect, test } from 'vitest';
import { removeNode, removePod, setPod } from '../../simulator/kubernetes/cluster.ts';
import { staged } from '../e2e/served.ts';
import type { Stage } from '../e2e/stage.ts';
import { shareOfScenarios } from '../support/extent.ts';
import { MORTAL_FLAGS, type Operator } from '../support/operator.ts';

const NAMES = ['a', 'b', 'c'];

/** How the operator ends, how long after the assign of its failover was received, and whether its successor runs before the pool comes again. */
interface Moment {
  readonly signal: 'SIGTERM' | 'SIGKILL';
  readonly afterMs: number;
  readonly startsBefore: boolean;
}

const MOMENTS: Readonly<Record<string, Moment>> = {
  'asked to stop while the assign is under way': { signal: 'SIGTERM', afterMs: 120, startsBefore: false },
  'killed while the assign is under way': { signal: 'SIGKILL', afterMs: 120, startsBefore: false },
  'killed, and its successor runs already': { signal: 'SIGKILL', afterMs: 0, startsBefore: true },
};

/** A pool, its nodes and its Pods are deleted and created again under their names, as tools that apply a repository do, in the middle of a failover. */
describe('a pool that is created again under its name while its operator restarts is served', () => {
  const { served } = staged({ cloud: { actionMs: 1_000 } });

  for (const [how, moment] of shareOfScenarios(Object.entries(MOMENTS), 2)) {
    test(how, async () => {
      const { stage, operator, ip, holder } = await served(NAMES, { flags: MORTAL_FLAGS });
      const former = (await stage.getPool('ingress')).metadata as { readonly uid?: string };
      await setPod(stage.target.client, { name: `ingress-${holder}`, namespace: 'default' }, { ready: false });
      await stage.until('the assign was received', () => stage.assigns(ip).length === 2);
      await ended(operator, moment);
      if (moment.startsBefore) await stage.start({ flags: MORTAL_FLAGS });
      await recreate(stage, ip);
      if (!moment.startsBefore) await stage.start({ flags: MORTAL_FLAGS });
      await stage.until('the new pool is served', async () => {
        const pool = await stage.getPool('ingress');
        const { uid } = pool.metadata as { readonly uid?: string };
        const now = await stage.activeOn('ingress', ip);
        return uid !== former.uid && now !== null && stage.heldBy(ip) === now && (await stage.annotation(now)) === ip;
      });
      expect(stage.cloud.state.reservedIPs.size).toBe(1);
    });
  }
});

async function ended(operator: Operator, { signal, afterMs }: Moment): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  operator.kill(signal);
  await operator.exited;
}

/** The pool, its nodes and its Pods go and come again, on the same machines; somebody takes the address off meanwhile. */
async function recreate(stage: Stage, ip: string): Promise<void> {
  const { client } = stage.target;
  await stage.deletePool('ingress');
  for (const name of NAMES) {
    await removePod(client, { name: `ingress-${name}`, namespace: 'default' });
    await removeNode(client, name);
  }
  stage.cloud.moveReservedIP(ip, null);
  for (const name of NAMES) await stage.nodeAgain(name);
  await stage.pool('ingress', { ips: [ip] });
}
