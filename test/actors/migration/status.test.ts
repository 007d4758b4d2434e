import { expect, test } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { MigrationWriter } from '../../../actors/ports/migration.ts';
import { VirtualIPProjector } from '../../../actors/vip/migration-status.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { virtualIPContext } from '../../../machines/migration/decisions.ts';

const KEY = 'vip/default/shop';

test('a status of a VirtualIP that is refused is told of once for each reason, and tried at least once a minute', async () => {
  const clock = virtualClock();
  const lines: string[] = [];
  const log = (message: string, fields: object = {}): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  let why = 'spec.service: Too long';
  let tries = 0;
  const projector = new VirtualIPProjector({
    writer: {
      virtualIP: async () => {
        tries += 1;
        throw new ProviderError('Invalid', why);
      },
    } as unknown as MigrationWriter,
    events: { announce: async () => undefined },
    log: { debug: () => undefined, info: () => undefined, warn: log, error: log },
    leadership: { lease: () => ({ renewedAt: 0, durationMs: Number.POSITIVE_INFINITY }) as never },
    clock,
    contextOf: () => ({ ...virtualIPContext({ id: KEY }), ref: { kind: 'VirtualIP', namespace: 'default', name: 'shop', uid: 'uid' } }),
  });
  projector.show(KEY);
  await clock.advance(10 * 60_000);
  expect(lines).toEqual([expect.stringContaining('spec.service: Too long')]);
  expect(tries).toBeGreaterThan(10);
  expect(tries).toBeLessThan(20);
  why = 'another reason';
  await clock.advance(2 * 60_000);
  expect(lines).toEqual([expect.anything(), expect.stringContaining('another reason')]);
});
