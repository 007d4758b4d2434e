import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Allocator } from '../../../actors/vip/allocator.ts';
import type { VipRequest } from '../../../actors/vip/wait-queue.ts';
import type { Address } from '../../../machines/model/types.ts';
import { parseGroup } from '../../../machines/vip/ip-group.ts';
import { type Listed, Model } from './allocator-model.ts';

const RUNS = 500;
const NAMES = ['a', 'b', 'c', 'd'];
const KEYS = ['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7'];
const V4 = Array.from({ length: 16 }, (_, index) => `192.0.2.${index}`);
const V6 = Array.from({ length: 8 }, (_, index) => `2001:db8::${index === 0 ? '' : index}`);
const name = fc.constantFrom(...NAMES);
const key = fc.constantFrom(...KEYS);
const address = fc.constantFrom(...V4, ...V6);

/** Small groups that overlap more often than not. */
const listed: fc.Arbitrary<Listed & { segment: string }> = fc
  .record({
    name,
    family: fc.constantFrom<4 | 6>(4, 4, 6),
    hostBits: fc.nat(3),
    at: fc.nat(15),
    excluded: fc.subarray([...V4, ...V6], { maxLength: 10 }),
  })
  .map(({ family, hostBits, at, ...rest }) => {
    const every = family === 4 ? V4 : V6;
    const size = 2 ** hostBits;
    const first = (at % every.length) - ((at % every.length) % size);
    return { ...rest, family, all: every.slice(first, first + size), segment: `${every[first]}/${(family === 4 ? 32 : 128) - hostBits}` };
  });

const asked: fc.Arbitrary<VipRequest> = fc
  .record({
    key,
    address: fc.option(address, { freq: 3 }),
    group: fc.option(name, { freq: 3 }),
    family: fc.option(fc.constantFrom<4 | 6>(4, 6)),
    preferred: fc.oneof(
      { weight: 3, arbitrary: fc.constant<string[]>([]) },
      { weight: 1, arbitrary: fc.uniqueArray(address, { maxLength: 3 }) },
    ),
    since: fc.nat(4),
  })
  .map((request) => request as unknown as VipRequest);

type Fact =
  | { readonly kind: 'put'; readonly group: Listed & { segment: string } }
  | { readonly kind: 'putInvalid' | 'remove'; readonly name: string }
  | { readonly kind: 'take'; readonly address: string; readonly owner: string | null; readonly label: string | null }
  | { readonly kind: 'give'; readonly address: string }
  | { readonly kind: 'ask'; readonly request: VipRequest }
  | { readonly kind: 'withdraw'; readonly key: string }
  /** Reserve what is offered, as the cell of the Service does. */
  | { readonly kind: 'reserve'; readonly key: string };

const fact: fc.Arbitrary<Fact> = fc.oneof(
  { weight: 3, arbitrary: listed.map((group) => ({ kind: 'put', group }) as const) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('putInvalid' as const, 'remove' as const), name }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), address, owner: fc.option(key), label: fc.option(name) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('give' as const), address }) },
  { weight: 8, arbitrary: asked.map((request) => ({ kind: 'ask', request }) as const) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), key }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('reserve' as const), key }) },
);

function tell(fact: Fact, allocator: Allocator, model: Model): void {
  switch (fact.kind) {
    case 'put': {
      const { name: called, segment, excluded } = fact.group;
      allocator.putGroup(parseGroup(called, { segment, excludedIPs: excluded }));
      model.groups.set(called, fact.group);
      return;
    }
    case 'putInvalid':
      allocator.putGroup(parseGroup(fact.name, { segment: 'banana', excludedIPs: [] }));
      model.groups.set(fact.name, null);
      return;
    case 'remove':
      allocator.removeGroup(fact.name);
      model.groups.delete(fact.name);
      return;
    case 'take':
      allocator.take(fact.address as Address, fact.owner, fact.label);
      model.taken.set(fact.address, { owner: fact.owner, group: fact.label });
      return;
    case 'give':
      allocator.give(fact.address as Address);
      model.taken.delete(fact.address);
      return;
    case 'ask':
      allocator.ask(fact.request);
      model.ask(fact.request);
      return;
    case 'withdraw':
      allocator.withdraw(fact.key);
      model.asked.delete(fact.key);
      return;
    case 'reserve': {
      const offer = model.asked.get(fact.key)?.offer;
      if (!offer) return;
      const { address: offered, group } = offer;
      tell({ kind: 'take', address: offered, owner: fact.key, label: group }, allocator, model);
    }
  }
}

const verdicts = (of: { verdict(key: string): unknown }): unknown => KEYS.map((one) => [one, of.verdict(one)]);

function expectTheRules(allocator: Allocator, model: Model): void {
  const offers = KEYS.flatMap((one) => {
    const verdict = allocator.verdict(one);
    return verdict?.kind === 'offered' ? [{ key: one, ...verdict }] : [];
  });
  // No address is offered twice, nor while an IP object of another owner stands.
  expect(new Set(offers.map((offer) => offer.address)).size).toBe(offers.length);
  for (const offer of offers) expect(model.taken.get(offer.address)?.owner ?? offer.key).toBe(offer.key);
  // Nobody who asks for any address waits while one of his groups has a free one.
  for (const { request } of model.asked.values()) {
    if (request.address !== null || allocator.verdict(request.key)?.kind === 'offered') continue;
    for (const { name: called, family } of model.valid()) {
      const isHis = (request.group === null || request.group === called) && (request.family === null || request.family === family);
      if (isHis) expect(allocator.figures(called)?.available).toBe(0n);
    }
  }
}

describe('the allocator', () => {
  test('says what the rules say, of any facts, in any grouping between readings', () => {
    const seen = { offered: 0, refused: 0, lost: 0 };
    fc.assert(
      fc.property(fc.array(fc.array(fact, { minLength: 1, maxLength: 6 }), { maxLength: 25, size: 'max' }), (batches) => {
        const allocator = new Allocator();
        const model = new Model();
        for (const batch of batches) {
          const before = [...model.asked.values()].filter(({ offer }) => offer !== null);
          for (const one of batch) tell(one, allocator, model);
          model.read();
          expect(allocator.changed()).toEqual(model.changed());
          expect(verdicts(allocator)).toEqual(verdicts(model));
          for (const called of NAMES) expect(allocator.figures(called)).toEqual(model.figures(called));
          expectTheRules(allocator, model);
          const now = [...model.asked.values()].filter(({ offer }) => offer !== null).length;
          seen.offered += now;
          seen.refused += model.asked.size - now;
          seen.lost += before.filter(({ offer, request }) => model.asked.get(request.key)?.offer?.address !== offer?.address).length;
        }
      }),
      { numRuns: RUNS },
    );
    // Each of these happens all the time; otherwise nothing was shown.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS / 2);
  });

  test('says the same for any order of the same facts, told before anything is read', () => {
    const facts = fc
      .tuple(
        fc.uniqueArray(listed, { selector: (group) => group.name, maxLength: 4 }),
        fc.uniqueArray(fc.record({ address, owner: fc.option(key), label: fc.option(name) }), {
          selector: (one) => one.address,
          maxLength: 8,
        }),
        fc.uniqueArray(asked, { selector: (request) => request.key, minLength: 2, maxLength: 8 }),
      )
      .map(([groups, taken, requests]): Fact[] => [
        ...groups.map((group) => ({ kind: 'put', group }) as const),
        ...taken.map((one) => ({ kind: 'take', ...one }) as const),
        ...requests.map((request) => ({ kind: 'ask', request }) as const),
      ]);
    const said = (all: readonly Fact[]): unknown => {
      const allocator = new Allocator();
      for (const one of all) tell(one, allocator, new Model());
      return [allocator.changed(), verdicts(allocator), NAMES.map((called) => allocator.figures(called)), [...allocator.overlaps()]];
    };
    fc.assert(
      fc.property(
        facts.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([all, shuffled]) => {
          expect(said(shuffled)).toEqual(said(all));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('serves everybody in the end, by age, when addresses become free one by one', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(1000), { minLength: 1, maxLength: 40, size: 'max' }), fc.nat(3), (ages, hostBits) => {
        const allocator = new Allocator();
        allocator.putGroup(parseGroup('a', { segment: `192.0.2.0/${32 - hostBits}`, excludedIPs: [] }));
        for (const since of ages) allocator.ask({ key: `k${since}`, address: null, group: null, family: null, preferred: [], since });
        const isServed = (since: number): boolean => allocator.verdict(`k${since}`)?.kind === 'offered';
        const waiting = ages.toSorted((a, b) => a - b);
        while (waiting.length > 0) {
          expect(waiting.map(isServed)).toEqual(waiting.map((_, index) => index < 2 ** hostBits));
          release(allocator, `k${waiting.shift()}`);
        }
      }),
      { numRuns: 50 },
    );
  });
});

/** It reserves what it is offered, and goes. */
function release(allocator: Allocator, owner: string): void {
  const verdict = allocator.verdict(owner);
  if (verdict?.kind !== 'offered') throw new Error(`${owner} was offered nothing`);
  allocator.take(verdict.address, owner);
  allocator.withdraw(owner);
  expect(allocator.changed()).not.toContain(owner);
  allocator.give(verdict.address);
}
