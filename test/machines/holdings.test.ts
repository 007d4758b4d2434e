import { describe, expect, test } from 'vitest';
import { showsAddress, standingTo } from '../../machines/holdings.ts';
import { A, registry } from './builders.ts';
import { serving, spec } from './pool-world.ts';

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

describe('a status of a pool whose records are lost', () => {
  test.each([
    ['serves', { nodeName: 'a', epoch: 1 }, true],
    ['has served', { epoch: 1 }, true],
    ['has a node in hand', { epoch: 1, unconfirmed: true, electedNode: 'a' }, true],
    ['may be on its way to a node', { epoch: 1, unconfirmed: true, inDoubt: true }, true],
    ['was given nodes that refused it', { epoch: 4, unconfirmed: true }, false],
    ['was made for it', { origin: 'Created' }, true],
    ['is only listed', { origin: 'Found' }, false],
  ])('shows of an address that %s, whether the pool has it as the records would', (_, entry, has) => expect(showsAddress(entry)).toBe(has));
});
