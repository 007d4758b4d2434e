import { expect, test } from 'vitest';
import { writing } from './writer-support.ts';

test('an object is counted by its conditions, of which why it is not served replaces its own alone, until another process leads', async () => {
  const { writer, projection } = await writing();
  const shown = () =>
    [...writer.shown()].map(({ kind, conditions }) => [kind, ...[...conditions].map(({ type, reason }) => `${type} ${reason}`)]);
  const degraded = { type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' } as const;
  const ready = { type: 'Ready', status: 'True', reason: 'AllActive', message: '' } as const;
  writer.project(projection({ conditions: [ready, degraded] }));
  expect(shown()).toEqual([['FloatingIPPool', 'Ready AllActive', 'Degraded AsExpected']]);
  writer.project(projection({ partial: true, conditions: [{ ...ready, status: 'Unknown', reason: 'ProviderUnread' }] }));
  expect(shown()).toEqual([['FloatingIPPool', 'Ready ProviderUnread', 'Degraded AsExpected']]);
  writer.project(projection({ conditions: [ready] }));
  expect(shown()).toEqual([['FloatingIPPool', 'Ready AllActive']]);
  writer.forget();
  expect(shown()).toEqual([]);
});
