import { describe, expect, test } from 'vitest';
import type { ActorRecord } from '../../../actors/ports/records.ts';
import { beside } from '../../../actors/runtime/beside.ts';
import type { ActorId, Address } from '../../../machines/model/types.ts';
import { type Acquiring, type PoolContext, poolContext } from '../../../machines/pool/context.ts';

const INTENT = { knownAddresses: [], listedAt: 1, region: 'nyc3' };
const MADE = '203.0.113.1' as Address;
const OTHER = '203.0.113.2' as Address;

/** The cell of a RoutedIP that works with this provider. */
function cellOf(name: string, provider: string, acquiring: Partial<Acquiring>, change: Partial<PoolContext> = {}) {
  const id: ActorId = `rip/web/${name}`;
  const ref = { kind: 'RoutedIP', namespace: 'web', name, uid: `uid-${name}` } as const;
  const context = poolContext({ id, ref, since: 0, provider });
  const told = { ...context, ...change, acquiring: { ...context.acquiring, ...acquiring } };
  return [id, { records: new Map([[id, { chart: 'pool', snapshot: { context: told } } as unknown as ActorRecord]]) }] as const;
}

const making = (provider: string, acquiring: Partial<Acquiring>) => beside('rip/web/own', [cellOf('other', provider, acquiring)]).making;

describe('beside an address that a list tells of', () => {
  test.each([
    ['a Job makes one', 'job.http', { intent: INTENT }],
    ['nobody knows what a Job has made, since that will be asked', 'job.http', { intent: INTENT, inDoubtUntil: 1 }],
    ['a call makes one in another account', 'digitalocean@web.token', { intent: INTENT }],
  ])('another one is being made while %s', (_, provider, acquiring) => expect(making(provider, acquiring)).toBe('RoutedIP web/other'));

  test.each([
    ['is about to look into a list itself', 'digitalocean@web.token', { intent: INTENT, inDoubtUntil: 1 }],
    ['knows what was made', 'job.http', { intent: INTENT, unpublished: MADE }],
    ['makes none', 'job.http', {}],
  ])('none is being made for one that %s', (_, provider, acquiring) => expect(making(provider, acquiring)).toBeNull());

  test('that of the pool itself does not count, and what others have made and nobody lists does, or what they give back', () => {
    const own = cellOf('own', 'job.http', { intent: INTENT });
    const gone = cellOf('gone', 'job.http', {}, { created: [MADE], deleted: true });
    const other = cellOf('other', 'job.http', { intent: INTENT, givenBack: OTHER });
    expect(beside('rip/web/own', [own, gone, other])).toEqual({ addresses: [MADE, OTHER], making: null });
  });
});
