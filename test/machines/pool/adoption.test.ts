import { describe, expect, test } from 'vitest';
import type { AddressContext } from '../../../machines/address/context.ts';
import { isOwn } from '../../../machines/address/context.ts';
import type { Adoption } from '../../../machines/model/types.ts';
import { adoptionOf, isWithheld } from '../../../machines/pool/adoption.ts';
import { rememberedPool } from '../../../machines/status/restore-pool.ts';
import { rememberedRoutedIP } from '../../../machines/status/restore-routedip.ts';
import { addressInput } from '../address/vocabulary.ts';
import { A, observed, refOf } from '../builders.ts';
import { Driven } from '../drive.ts';

const pool = (adoption?: Adoption, exposed: unknown = null) => ({ spec: { ...(adoption && { adoption }) }, exposed }) as never;

describe('an address', () => {
  test.each([
    { epoch: 0, origin: 'Found', own: false },
    { epoch: 0, origin: 'Created', own: true },
    { epoch: 3, origin: 'Found', own: true },
    { epoch: 3, origin: 'Found', unconfirmed: true, own: false },
  ] as const)('that is $origin, of epoch $epoch, unconfirmed $unconfirmed, is its owner’s: $own', ({ own, ...of }) => {
    expect(isOwn(of)).toBe(own);
  });

  test.each<[Adoption, readonly boolean[]]>([
    ['Never', [false, true, true, true, true]],
    ['Unassigned', [false, false, true, true, true]],
    ['Any', [false, false, false, false, false]],
  ])('is withheld under %s when it was found there', (adoption, withheld) => {
    const places = [{}, { adopts: 'Free' }, { adopts: 'Outside' }, { adopts: 'Unsaid' }, { adopts: 'Unseen' }] as const;
    expect(places.map((member) => isWithheld(pool(adoption), member))).toEqual(withheld);
  });

  test('may be any that a FloatingIPPool lists, and an unassigned one that a RoutedIP names, where nothing is said', () => {
    expect([adoptionOf(pool()), adoptionOf(pool(undefined, {}))]).toEqual(['Any', 'Unassigned']);
  });
});

describe('an address that was found', () => {
  const OUTSIDE = { place: 'Outside' } as const;
  const found = (change = {}) =>
    new Driven<AddressContext>('ip', addressInput({ origin: 'Found', observed: observed(A, 'stranger', OUTSIDE), ...change }));
  const granted = () => found({ observed: observed(A) }).send('NODE_GRANTED', { node: refOf('a'), spaced: false, looks: true });

  test('says where, as long as it is not its owner’s', () => {
    const ready = ({ last }: Driven<AddressContext>) =>
      last.effects.flatMap((effect) => (effect.type === 'tell' ? [effect.params.event] : []));
    expect(ready(found())).toMatchObject([{ type: 'READY', adopts: 'Outside' }]);
    expect(ready(found({ origin: 'Created' }))).toEqual([expect.not.objectContaining({ adopts: expect.anything() })]);
  });

  test('is read again once its machine has become a node', () => {
    const address = found();
    expect(address.send('ADDRESS_OBSERVED', { observed: observed(A, 'stranger', OUTSIDE) }).state).toBe('Unassigned.Waiting');
    expect(address.send('ADDRESS_OBSERVED', { observed: observed(A, 'stranger') }).state).toBe('Unassigned.Finding');
  });

  test('is looked at before the first assign is sent, and is its owner’s once that is confirmed', () => {
    const address = granted();
    expect(address.inputOf('assign')).toMatchObject({ looksFirst: true });
    expect([isOwn(address.context), address.context.epoch]).toEqual([false, 1]);
    address.done('assign', {});
    expect(isOwn(address.context)).toBe(true);
    address.send('NODE_OBSERVED', { name: 'a', eligible: false }).send('NODE_GRANTED', { node: refOf('b'), spaced: false });
    expect(address.inputOf('assign')).not.toHaveProperty('looksFirst');
  });

  test('is not its owner’s when somebody was quicker than the assign', () => {
    const address = granted().failed('assign', { kind: 'Conflict', message: 'elsewhere', retryAfterMs: null, unknownOutcome: false });
    address.done('find', observed(A, 'stranger', OUTSIDE));
    expect(address.context).toMatchObject({ unconfirmed: true, place: 'Outside', epoch: 1 });
    expect(isOwn(address.context)).toBe(false);
  });
});

describe('a status', () => {
  test('tells whether an address was its owner’s', () => {
    const of = (entry: object) => isOwn({ origin: 'Found', epoch: 0, ...rememberedPool({ ips: { [A]: entry } }, 0, 1).addresses[A] });
    expect([of({ state: 'unassigned' }), of({ epoch: 2 }), of({ epoch: 2, unconfirmed: true })]).toEqual([false, true, false]);
    const routed = (change: object) => rememberedRoutedIP({ routedIP: A, epoch: 2, ...change }, 0, 1).addresses[A];
    expect([routed({}), routed({ unconfirmed: true })].map((each) => each?.unconfirmed)).toEqual([undefined, true]);
  });
});
