import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { carefulPool, conditionOf, untilReason } from '../e2e/careful-steps.ts';
import type { Names } from '../e2e/named.ts';

const SAMPLE = join(import.meta.dirname, '../../crds/samples/floatingippool-careful.yaml');

const WINDOW = { windowSeconds: 60 };

/** What the schema refuses, on every API server, by the field that the refusal names. */
const REJECTED: readonly (readonly [field: string, spec: JsonObject])[] = [
  ['spec.recoveryGraceSeconds', { recoveryGraceSeconds: -1 }],
  ['spec.recoveryGraceSeconds', { recoveryGraceSeconds: 31_536_001 }],
  ['spec.recoveryGraceSeconds', { recoveryGraceSeconds: '30s' }],
  ['spec.drainPolicy', { drainPolicy: 'OnDelete' }],
  ['spec.drainPolicy', { drainPolicy: true }],
  ['spec.safeHold', { safeHold: 2 }],
  ['spec.safeHold.maxUnavailable', { safeHold: { ...WINDOW, maxUnavailable: 0 } }],
  ['spec.safeHold.maxUnavailable', { safeHold: { ...WINDOW, maxUnavailable: '30%' } }],
  ['spec.safeHold.maxUnavailable', { safeHold: { ...WINDOW, maxUnavailable: 1.5 } }],
  ['spec.safeHold.windowSeconds', { safeHold: { maxUnavailable: 1, windowSeconds: -1 } }],
  ['spec.safeHold.windowSeconds', { safeHold: { maxUnavailable: 1, windowSeconds: 31_536_001 } }],
  ['spec.contention', { contention: [] }],
  ['spec.contention.moves', { contention: { ...WINDOW, moves: 0 } }],
  ['spec.contention.moves', { contention: { ...WINDOW, moves: 'three' } }],
  ['spec.contention.windowSeconds', { contention: { moves: 3, windowSeconds: 31_536_001 } }],
  ['spec.contention.takeover', { contention: { ...WINDOW, moves: 3, takeover: 'Fight' } }],
];

const SAFE_HOLD = 'safeHold needs maxUnavailable of at least 1 and windowSeconds above 0';
const CONTENTION = 'contention needs moves of at least 1 and windowSeconds above 0';

/** What a rule of the schema refuses on a server that knows such rules (1.25 and newer); the operator tells the same on the others. */
const RULED: readonly (readonly [text: string, spec: JsonObject])[] = [
  [SAFE_HOLD, { safeHold: {} }],
  [SAFE_HOLD, { safeHold: { maxUnavailable: 1 } }],
  [SAFE_HOLD, { safeHold: WINDOW }],
  [SAFE_HOLD, { safeHold: { maxUnavailable: 1, windowSeconds: 0 } }],
  [CONTENTION, { contention: {} }],
  [CONTENTION, { contention: { moves: 3 } }],
  [CONTENTION, { contention: { ...WINDOW, takeover: 'Reclaim' } }],
  [CONTENTION, { contention: { moves: 3, windowSeconds: 0 } }],
];

/** What the server says against it; null when it lets it through. */
const refusal = (write: Promise<void>): Promise<string | null> =>
  write.then(
    () => null,
    (error: Error) => error.message,
  );

export const inputScenarios = (current: () => Names) =>
  describe('with a wrong value', () => {
    test('is refused by the schema with the field that is wrong', async () => {
      const { stage } = current();
      for (const [field, spec] of REJECTED) {
        const said = await refusal(stage.pool('rejected', { ips: ['192.0.2.1'], ...spec }));
        expect(said, JSON.stringify(spec)).toContain(field);
      }
    });

    test('that only a rule can find is refused with its text, or told with it in the status; nothing is called for', async () => {
      const { stage, ...names } = current();
      await names.start();
      const told: string[] = [];
      for (const [index, [text, spec]] of RULED.entries()) {
        const name = `ruled-${index}`;
        const said = await refusal(stage.pool(name, { ips: ['192.0.2.1'], ...spec }));
        if (said === null) told.push(name);
        else expect(said, JSON.stringify(spec)).toContain(text);
      }
      for (const name of told) {
        await stage.until(`${name} says what is wrong`, async () => (await stage.getPool(name)).status?.error !== undefined);
        const [text] = RULED[Number(name.split('-')[1])] ?? [];
        const { status } = await stage.getPool(name);
        expect(status?.error).toBe(text);
        const degraded = status?.conditions?.find(({ type }) => type === 'Degraded');
        expect(degraded).toMatchObject({ status: 'True', reason: 'InvalidSpec', message: text });
      }
      // One kind of server or the other.
      expect([0, RULED.length]).toContain(told.length);
      expect(stage.cloud.calls.select({ writes: true })).toEqual([]);
    });

    test('that was right before keeps what is assigned, and goes on when it is right again', async () => {
      const pool = await carefulPool(current(), { safeHold: { maxUnavailable: 1, ...WINDOW } }, { nodes: ['a', 'b'] });
      const { stage, ip } = pool;
      const said = await refusal(stage.editPool('ingress', { safeHold: { windowSeconds: 0 } }));
      if (said === null) {
        await untilReason(pool, 'Degraded', 'InvalidSpec');
        expect((await conditionOf(pool, 'Degraded'))?.message).toBe(SAFE_HOLD);
      } else expect(said).toContain(SAFE_HOLD);
      expect(stage.heldBy(ip)).toBe('a');
      await stage.editPool('ingress', { safeHold: { windowSeconds: 5 } });
      await untilReason(pool, 'Ready', 'AllActive');
      await untilReason(pool, 'Degraded', 'AsExpected');
      expect(stage.assigns(ip)).toHaveLength(1);
    });

    test('is not in the manifest that is published', async () => {
      const names = current();
      const { stage } = names;
      await names.start();
      await names.apply(SAMPLE);
      await stage.until('it is taken', async () => (await stage.getPool('ingress-pool')).status?.observedGeneration === 1);
      const { spec } = await stage.getPool('ingress-pool');
      expect((await names.poolDegraded('ingress-pool'))?.reason).not.toBe('InvalidSpec');
      expect(spec).toMatchObject({
        recoveryGraceSeconds: 30,
        drainPolicy: 'OnCordon',
        safeHold: { maxUnavailable: 2, windowSeconds: 60 },
        contention: { moves: 3, windowSeconds: 3600, takeover: 'Yield' },
      });
    });
  });
