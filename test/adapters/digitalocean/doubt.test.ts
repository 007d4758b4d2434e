import { afterEach, describe, expect, test } from 'vitest';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { startTestBed } from './support.ts';

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

describe('answers', () => {
  test.each([
    { code: 500, effectWithinMs: 2_000 },
    { code: 503, effectWithinMs: 2_000 },
    { code: 502, effectWithinMs: undefined },
    { code: 504, effectWithinMs: undefined },
    { code: 500, body: 'upstream failed', effectWithinMs: undefined },
  ])('to a write of $code leave it in doubt, for a short time where the API itself has answered ($effectWithinMs)', async (answer) => {
    const { effectWithinMs, ...status } = answer;
    const { provider, simulator, close } = await startTestBed();
    closing.push(close);
    const node = `digitalocean://${simulator.addDroplet({ name: 'a', region: 'nyc3' }).id}` as ProviderID;
    const address = simulator.addReservedIP({ region: 'nyc3' }).ip as Address;
    simulator.faults.add({ kind: 'status', ...status, times: 1 });
    const error = await failure(provider.assignRoutedIP(address, node, { purpose: 'failover' }));
    expect(error).toMatchObject({ kind: 'Unavailable', unknownOutcome: true, effectWithinMs });
  });
});
