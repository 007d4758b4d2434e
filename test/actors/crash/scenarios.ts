import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf, type World, type WorldOptions } from '../../support/world.ts';

const A = '203.0.113.207' as Address;
const B = '203.0.113.208' as Address;

/** Something that the operator has to do, during which its process may end at any point. */
export interface Scenario {
  readonly name: string;
  readonly options?: WorldOptions;
  /** A world of another kind than the usual one. */
  readonly open?: (options: WorldOptions | undefined) => World;
  /** The world before the first process starts. */
  readonly before: (world: World) => ObjectRef;
  /** What must hold before it begins; null when it begins with the start of the process. */
  readonly ready: ((world: World, ref: ObjectRef) => boolean) | null;
  /** The call by which it changes the world; null for none. */
  readonly sends:
    | 'assignRoutedIP'
    | 'createRoutedIP'
    | 'deleteRoutedIP'
    | 'addRoutedIPFirewallPort'
    | 'addRoutedIPFirewallNode'
    | 'deleteRoutedIPFirewallPort'
    | 'deleteRoutedIPFirewallNode'
    | null;
  readonly begin: (world: World, ref: ObjectRef) => void;
  readonly isOver: (world: World, ref: ObjectRef) => boolean;
  /** How long it takes at most when nothing is in the way, ms. */
  readonly withinMs: number;
  /** Who held which address, in order of time; a node that comes twice in a row was never left. */
  readonly holders: Readonly<Record<string, readonly (string | null)[]>>;
  /** What else must hold in the end. */
  readonly expectEnd?: (world: World, ref: ObjectRef) => void;
  /** What goes on then, and must go well too. */
  readonly afterwards?: (world: World, ref: ObjectRef) => Promise<void>;
}

const active = (world: World, ref: ObjectRef, count: number): boolean => {
  const states = Object.values(world.states(ref));
  return states.length === count && states.every((state) => state === 'active');
};
const on = (world: World, held: Readonly<Record<string, string>>): boolean =>
  Object.entries(held).every(([address, name]) => world.holderOf(address) === name);

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'first assignment',
    before: (world) => {
      world.nodes(node('a'), node('b'), node('c'));
      world.address(A);
      world.address(B);
      return world.pool('ingress', { ips: [A, B] });
    },
    ready: null,
    sends: 'assignRoutedIP',
    begin: () => {},
    isOver: (world, ref) => active(world, ref, 2),
    withinMs: 30_000,
    holders: { [A]: ['a'], [B]: ['b'] },
  },
  {
    name: 'failover',
    before: (world) => {
      world.nodes(node('a'), node('b'), node('c'));
      world.address(A, 'a');
      world.address(B, 'b');
      return world.pool('ingress', { ips: [A, B] });
    },
    ready: (world, ref) => active(world, ref, 2),
    sends: 'assignRoutedIP',
    begin: (world) => world.cluster.setNode(node('a', { ready: false })),
    isOver: (world, ref) => on(world, { [A]: 'c' }) && active(world, ref, 2),
    withinMs: 30_000,
    holders: { [A]: ['a', 'c'], [B]: ['b'] },
  },
  {
    name: 'failover after a grace',
    before: (world) => {
      world.nodes(node('a'), node('b'), node('c'));
      world.address(A, 'a');
      world.address(B, 'b');
      return world.pool('ingress', { ips: [A, B], recoveryGraceSeconds: 10 });
    },
    ready: (world, ref) => active(world, ref, 2),
    sends: 'assignRoutedIP',
    begin: (world) => world.cluster.setNode(node('a', { ready: false })),
    isOver: (world, ref) => on(world, { [A]: 'c' }) && active(world, ref, 2),
    withinMs: 60_000,
    holders: { [A]: ['a', 'c'], [B]: ['b'] },
  },
  {
    name: 'drain',
    before: (world) => {
      world.nodes(node('a'), node('b'), node('c'));
      world.address(A, 'a');
      world.address(B, 'b');
      return world.pool('ingress', { ips: [A, B], drainPolicy: 'OnCordon' });
    },
    ready: (world, ref) => active(world, ref, 2),
    sends: 'assignRoutedIP',
    begin: (world) => world.cluster.setNode(node('a', { unschedulable: true })),
    isOver: (world, ref) => on(world, { [A]: 'c' }) && active(world, ref, 2),
    withinMs: 30_000,
    holders: { [A]: ['a', 'c'], [B]: ['b'] },
  },
  {
    name: 'failover while cool-off',
    before: (world) => {
      world.nodes(node('a'), node('b'), node('c'), node('d'));
      world.address(A, 'a');
      world.address(B, 'b');
      return world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 5 });
    },
    ready: (world, ref) => active(world, ref, 2),
    sends: 'assignRoutedIP',
    begin: (world) => world.cluster.setNode(node('a', { ready: false }), node('b', { ready: false })),
    isOver: (world, ref) => on(world, { [A]: 'c', [B]: 'd' }) && active(world, ref, 2),
    withinMs: 60_000,
    holders: { [A]: ['a', 'c'], [B]: ['b', 'd'] },
  },
  {
    name: 'creation',
    before: (world) => {
      world.nodes(node('a'), node('b'));
      return world.pool('ingress', { desiredIPs: 2 });
    },
    ready: null,
    sends: 'createRoutedIP',
    begin: () => {},
    isOver: (world, ref) => active(world, ref, 2),
    withinMs: 120_000,
    holders: { '203.0.113.1': ['a'], '203.0.113.2': ['b'] },
  },
  {
    name: 'retire',
    before: (world) => {
      world.nodes(node('a'), node('b'), node('c'));
      world.address(A, 'a');
      world.address(B, 'b');
      return world.pool('ingress', { ips: [A, B] });
    },
    ready: (world, ref) => active(world, ref, 2),
    sends: 'assignRoutedIP',
    begin: (world) => {
      world.pool('ingress', { ips: [B] });
      world.cluster.setNode(node('b', { ready: false }));
    },
    isOver: (world, ref) => on(world, { [B]: 'c' }) && active(world, ref, 1),
    withinMs: 30_000,
    holders: { [A]: ['a'], [B]: ['b', 'c'] },
  },
  {
    name: 'verification with drift',
    options: { settings: { verifyEveryMs: 20_000 } },
    before: (world) => {
      world.nodes(node('a'));
      world.provider.cloud.addNode(providerIDOf('foreign'));
      world.address(A, 'a');
      return world.pool('ingress', { ips: [A] });
    },
    ready: (world, ref) => active(world, ref, 1) && world.clock.monotonic() > 16_000,
    sends: 'assignRoutedIP',
    begin: (world) => world.provider.cloud.moveByHand(A, providerIDOf('foreign')),
    isOver: (world, ref) => on(world, { [A]: 'a' }) && active(world, ref, 1),
    withinMs: 60_000,
    holders: { [A]: ['a', 'foreign', 'a'] },
  },
  {
    name: 'pool deletion',
    before: (world) => {
      world.nodes(node('a'), node('b'));
      world.address(A, 'a');
      world.address(B);
      return world.pool('ingress', { ips: [A, B] });
    },
    ready: (world) => world.assigns().length === 1,
    sends: null,
    begin: (world, ref) => world.cluster.removePool(ref),
    isOver: (world) => on(world, { [B]: 'b' }) && ![...world.invariants.records.keys()].some((actor) => actor.startsWith('pool/')),
    withinMs: 60_000,
    holders: { [A]: ['a'], [B]: ['b'] },
  },
  {
    name: 'pool deletion while an address is created',
    options: { provider: { callMs: 500 } },
    before: (world) => {
      world.nodes(node('a'));
      return world.pool('ingress', { desiredIPs: 1 });
    },
    ready: (world) => world.provider.writes().length === 1,
    sends: null,
    begin: (world, ref) => world.cluster.removePool(ref),
    isOver: (world) =>
      world.cluster.announced.some(({ event }) => event.message.startsWith('203.0.113.1 may have been made')) &&
      ![...world.invariants.records.keys()].some((actor) => actor.startsWith('pool/')),
    withinMs: 60_000,
    holders: { '203.0.113.1': [] },
  },
];
