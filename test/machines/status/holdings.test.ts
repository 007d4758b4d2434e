import { describe, expect, test } from 'vitest';
import { standingTo } from '../../../machines/status/holdings.ts';
import { A, registry } from '../builders.ts';
import { serving, spec } from '../pool/world.ts';

describe('a pool whose provider becomes another one', () => {
  const changed = (provider: string) => {
    const known = { ...registry(), other: { ...registry().digitalocean, providerIDPrefix: 'other://' } };
    const { context } = serving().send('SPEC_OBSERVED', spec({ provider }, { generation: 2, registry: known }));
    return standingTo(context, undefined, A);
  };

  test('has its addresses no more than one that does not list them any more: another pool may have them', () =>
    expect(changed('other')).toBeNull());

  test('keeps them as long as there is no such provider', () => expect(changed('nobody')).toBe('Holds'));
});
