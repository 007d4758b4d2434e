import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { type GrantInput, grants } from '../../../machines/pool/assignment.ts';
import { listed, poolContext, queryIn } from '../../../machines/pool/context.ts';
import { spare } from '../../../machines/pool/creation.ts';
import { staff } from '../../../machines/pool/members.ts';
import { NodeQueue } from '../../../machines/pool/node-queue.ts';
import { observeSpec } from '../../../machines/pool/observe.ts';
import { LIMITS } from '../../../machines/spec/limits.ts';
import { checkPoolSpec } from '../../../machines/spec/pool.ts';
import { member, node, POOL, PROVIDER, providerIDOf, refOf, registry, START } from '../builders.ts';

/** Counts how often a member of the list is read: what looks through it once for each of its members reads it quadratically often. */
function counted<T>(list: readonly T[]): { readonly list: readonly T[]; readonly reads: () => number } {
  let reads = 0;
  const proxy = new Proxy(list, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
      return Reflect.get(target, key, receiver);
    },
  });
  return { list: proxy, reads: () => reads };
}

/** As many as a pool may have. */
const MANY = LIMITS.FloatingIPPool['spec.ips'];
/** Several passes over a list are linear still; one for each of its members would be a thousand of them. */
const PASSES = 20;

const addresses = (count: number): readonly Address[] =>
  Array.from({ length: count }, (_, index) => `10.0.${Math.floor(index / 250)}.${index % 250}` as Address);
const raw = (ips: readonly Address[]) => ({ provider: PROVIDER, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips });
const ref = { kind: 'FloatingIPPool', namespace: 'default', name: 'ingress', uid: 'uid-ingress' };

/** A pool that was told a spec, and how often its addresses are read from then on. */
function told() {
  const { spec } = checkPoolSpec(raw(addresses(MANY)), registry());
  if (!spec) throw new Error('the spec is not valid');
  const ips = counted(spec.ips);
  const context = { ...poolContext({ id: POOL, ref, since: START }), provider: PROVIDER, spec: { ...spec, ips: ips.list } };
  return { context, ips };
}

describe('the work for a pool grows with its addresses, not with their square:', () => {
  test('a spec', () => {
    const ips = counted(addresses(MANY));
    expect(checkPoolSpec(raw(ips.list), registry()).error).toBeNull();
    expect(ips.reads()).toBeLessThanOrEqual(PASSES * MANY);
  });

  test('two of its addresses that are the same, far apart', () => {
    const [first] = addresses(1);
    expect(checkPoolSpec(raw([...addresses(MANY - 1), first as Address]), registry()).error).toBe(
      `address ${first} is listed twice in ips`,
    );
  });

  test('what was published, what was made and what is listed', () => {
    const { context, ips } = told();
    const created = counted(addresses(MANY));
    const all = { ...context, created: created.list, acquiring: { ...context.acquiring, published: addresses(MANY) } };
    expect(listed(all)).toHaveLength(MANY);
    expect(spare(all)).toBeNull();
    expect(ips.reads() + created.reads()).toBeLessThanOrEqual(PASSES * MANY);
  });

  test('an edit', () => {
    const { context, ips } = told();
    const conflicts = Object.fromEntries(addresses(MANY).map((address) => [address, 'other/pool']));
    const event = { type: 'SPEC_OBSERVED', spec: {}, generation: 2, registry: registry(), conflicts, marks: undefined, at: START } as never;
    expect(Object.keys(observeSpec(context, event).context.conflicts)).toHaveLength(MANY);
    expect(ips.reads()).toBeLessThanOrEqual(PASSES * MANY);
  });

  test('its addresses are started', () => {
    const { context } = told();
    const fullNodes = counted(Array.from({ length: MANY }, (_, index) => `node-${index}`));
    const created = counted(addresses(MANY));
    const remembered = Object.fromEntries(
      addresses(MANY).map((address, index) => [address, { on: refOf(`other-${index}`), toward: `node-to-${index}`, inDoubtUntil: START }]),
    );
    const primed = { ...context, provided: {}, fullNodes: fullNodes.list, created: created.list, remembered } as never;
    const started = staff({ ...(primed as typeof context), query: queryIn(context.spec) });
    expect(Object.keys(started.context.members)).toHaveLength(MANY);
    expect(fullNodes.reads() + created.reads()).toBeLessThanOrEqual(PASSES * MANY);
  });

  test('it finds no node for any of them', () => {
    const candidates = counted(Array.from({ length: MANY }, (_, index) => node(`n${index}`).candidate));
    const leaving = counted(Array.from({ length: MANY }, (_, index) => node(`l${index}`).candidate));
    const fullNodes = counted(Array.from({ length: MANY }, (_, index) => `n${index}`));
    const members = Object.fromEntries(
      addresses(MANY).map((address, rank) => [address, member({ rank, region: 'ams3', holder: providerIDOf(`n${rank}`) })]),
    );
    const input: GrantInput = {
      members,
      candidates: candidates.list,
      keeping: [],
      leaving: leaving.list,
      fullNodes: fullNodes.list,
      backOff: {},
      occupied: [],
      resting: {},
      coolOffMs: 0,
      lastAssignmentAt: null,
    };
    expect(grants(input, START).grants).toEqual([]);
    expect(candidates.reads() + leaving.reads() + fullNodes.reads()).toBeLessThanOrEqual(PASSES * MANY);
  });

  test('each of its addresses takes a node, or finds none in its region', () => {
    const nodes = counted(Array.from({ length: MANY }, (_, index) => node(`n${index}`).candidate));
    const queue = new NodeQueue(nodes.list, new Map());
    const taken = addresses(MANY).map((address, index) => queue.take(address, index % 2 === 0 ? 'nyc3' : 'ams3')?.name ?? null);
    expect(taken.slice(0, 4)).toEqual(['n0', null, 'n1', null]);
    expect(queue.size).toBe(MANY / 2);
    expect(nodes.reads()).toBeLessThanOrEqual(PASSES * MANY);
  });
});
