import { describe, expect, test } from 'vitest';
import { withStalled } from '../../../machines/model/stalled.ts';
import type { Condition } from '../../../machines/model/types.ts';

const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `${reason}.`,
});
const added = (...conditions: readonly Condition[]): readonly Condition[] => withStalled(conditions).slice(conditions.length);

describe('Stalled', () => {
  test.each(['InvalidSpec', 'CreateUnknown', 'NameOutsideZone', 'UnsupportedIssuer'])('stands for %s, with its message', (reason) => {
    expect(added(condition('Ready', 'False', reason), condition('Degraded', 'True', reason))).toEqual([
      condition('Stalled', 'True', reason),
    ]);
  });

  test('of a class, an issuer or an IPGroup goes by Ready, the only condition that it has', () => {
    for (const reason of ['InvalidSpec', 'InvalidSegment', 'NoAddresses'])
      expect(added(condition('Ready', 'False', reason))).toEqual([condition('Stalled', 'True', reason)]);
    expect(added(condition('Ready', 'Unknown', 'ProviderUnread'))).toEqual([]);
  });

  test.each(['CredentialsNotFound', 'NoEligibleNode', 'ClassNotFound', 'Unauthorized', 'AddressConflict'])(
    'does not stand for %s, which somebody else may end',
    (reason) => expect(added(condition('Ready', 'False', reason), condition('Degraded', 'True', reason))).toEqual([]),
  );

  test('does not stand for what lies with another object, its class for example', () => {
    const wrong = { ...condition('Degraded', 'True', 'InvalidSpec'), elsewhere: true } as const;
    expect(added(condition('Ready', 'False', 'InvalidSpec'), wrong)).toEqual([]);
  });

  test('does not stand while the object is ready: what its class said before goes on', () => {
    expect(added(condition('Ready', 'True', 'Assigned'), condition('Degraded', 'True', 'InvalidSpec'))).toEqual([]);
  });
});
