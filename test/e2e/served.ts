import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import type { Operator, OperatorOptions } from '../support/operator.ts';
import { openStage, type Stage, type StageOptions } from './stage.ts';
import { openTarget, type Target } from './target.ts';

/** A pool `ingress` with one address that is active on a node, which is annotated, and what is around it. */
export interface Served {
  readonly stage: Stage;
  readonly operator: Operator;
  readonly ip: string;
  readonly holder: string;
}

/** Registers a target for the file and a stage for each test. Answers what makes the usual situation on it. */
export function staged(options: StageOptions = {}) {
  const held: { target?: Target; stage?: Stage } = {};
  // Processes, a lease that has to run out, a busy machine: the deadlines inside say what did not come in time, this one only ends a test that hangs.
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });
  beforeAll(async () => {
    held.target = await openTarget(options);
  });
  afterAll(() => held.target?.close());
  beforeEach(async () => {
    held.stage = await openStage(targetOf(held), options);
  });
  afterEach(() => held.stage?.close());
  const stage = () => {
    if (!held.stage) throw new Error('there is no stage outside of a test');
    return held.stage;
  };
  return {
    target: () => targetOf(held),
    stage,
    served: (nodes: readonly string[] = ['a', 'b', 'c'], operator: Partial<OperatorOptions> = {}) => serve(stage(), nodes, operator),
  };
}

const targetOf = ({ target }: { readonly target?: Target }): Target => {
  if (!target) throw new Error('there is no target outside of a test');
  return target;
};

async function serve(stage: Stage, nodes: readonly string[], options: Partial<OperatorOptions>): Promise<Served> {
  await stage.nodes(...nodes);
  const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
  const operator = await stage.start(options);
  await stage.pool('ingress', { ips: [ip] });
  await stage.until('the address is active', async () => (await stage.activeOn('ingress', ip)) !== null);
  const holder = stage.heldBy(ip) ?? '';
  // The status and the Node are written in no order.
  await stage.until('its node is annotated', async () => (await stage.annotation(holder)) === ip);
  return { stage, operator, ip, holder };
}

/** Resolves once the address is active on another node than `former`, at the provider too. */
export async function movedFrom({ stage, ip }: Pick<Served, 'stage' | 'ip'>, former: string, deadlineMs = 60_000): Promise<string> {
  const moved = async () => {
    const now = await stage.activeOn('ingress', ip);
    return now !== null && now !== former && stage.heldBy(ip) === now;
  };
  await stage.until(`${ip} is active elsewhere than on ${former}`, moved, deadlineMs);
  return stage.heldBy(ip) ?? '';
}
