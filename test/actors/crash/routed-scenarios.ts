import { expect } from 'vitest';
import type { ObjectRef, ProviderID } from '../../../machines/model/types.ts';
import { node, providerIDOf, type WorldOptions } from '../../support/world.ts';
import { expectRoutedSound } from '../routedip/routedip-test.ts';
import { FIREWALL, MINUTE, RoutedWorld, SECOND, service, servicePort } from '../routedip/world.ts';
import type { Scenario } from './scenarios.ts';

export const NODES = { old: node('old', { createdAt: 1 }), young: node('young', { createdAt: 2 }) };

/** The first address that the provider makes, and those after it. */
const MADE = '203.0.113.1';
const SECOND_MADE = '203.0.113.2';

/** What somebody else has in the firewalls: there from the start, and there in the end. */
const FOREIGN: Readonly<Record<string, { readonly ports: readonly string[]; readonly nodes: readonly ProviderID[] }>> = {
  [FIREWALL]: { ports: ['tcp/22'], nodes: [] },
  rim: { ports: ['tcp/443'], nodes: [providerIDOf('foreign')] },
};

/** By firewall: what is open in the end beside what is foreign. */
export type Open = Readonly<Record<string, { readonly ports: readonly string[]; readonly nodes: readonly string[] }>>;

/** Something that happens to RoutedIPs whose class has a firewall. */
interface RoutedScenario extends Pick<Scenario, 'name' | 'options' | 'sends' | 'withinMs' | 'holders'> {
  readonly before: (world: RoutedWorld) => ObjectRef;
  readonly ready: ((world: RoutedWorld, ref: ObjectRef) => boolean) | null;
  readonly begin: (world: RoutedWorld, ref: ObjectRef) => void;
  readonly isOver: (world: RoutedWorld, ref: ObjectRef) => boolean;
  readonly open: Open;
}

const routed = (given: RoutedScenario): Scenario => {
  const { ready } = given;
  const { name, options = {}, sends, withinMs, holders } = given;
  return {
    name,
    options,
    sends,
    withinMs,
    holders,
    open: ROUTED,
    before: (world) => given.before(world as RoutedWorld),
    ready: ready && ((world, ref) => ready(world as RoutedWorld, ref)),
    begin: (world, ref) => given.begin(world as RoutedWorld, ref),
    isOver: (world, ref) => given.isOver(world as RoutedWorld, ref),
    expectEnd: (world) => expectOpen(world as RoutedWorld, given.open),
    afterwards: (world) => endAll(world as RoutedWorld),
  };
};

/** A world with firewalls of which somebody else has a part, in which changes take their time. */
export const ROUTED = (options: WorldOptions = {}): RoutedWorld => {
  const world = new RoutedWorld({ ...options, provider: { firewallMs: 200, ...options.provider } });
  for (const [name, { ports, nodes }] of Object.entries(FOREIGN)) {
    world.provider.cloud.addNode(...nodes);
    world.provider.cloud.addFirewall(name, ports, nodes);
  }
  return world;
};

export function expectOpen(world: RoutedWorld, open: Open): void {
  expect(world.rules.wrongs()).toEqual([]);
  for (const [name, foreign] of Object.entries(FOREIGN)) {
    const { ports = [], nodes = [] } = open[name] ?? {};
    const wanted = [...foreign.ports, ...foreign.nodes, ...ports, ...nodes.map((name) => providerIDOf(name))];
    const found = world.firewall(name);
    const unknown = world.rules.firewalls.unknownIn(name).filter((item) => !wanted.includes(item));
    expect([...found.ports, ...found.nodes].filter((item) => !unknown.includes(item)).sort(), name).toEqual(wanted.sort());
  }
  expectRoutedSound(world);
}

/** Whoever led last knows all that was done: when every RoutedIP is deleted, the firewalls are as they were found. */
async function endAll(world: RoutedWorld): Promise<void> {
  const left = world.rules.objects();
  for (const ref of left) world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => left.every((ref) => world.cluster.pool(ref) === null), 2 * MINUTE);
  await world.clock.advance(SECOND);
  expectOpen(world, {});
  expect(world.cluster.holders()).toEqual({});
}

export const stable = (world: RoutedWorld, ref: ObjectRef, on: string): boolean => {
  const { state, assignedNode } = world.statusOf(ref);
  return state === 'Stable' && assignedNode === on;
};
export const gone = (world: RoutedWorld, ref: ObjectRef): boolean =>
  world.cluster.pool(ref) === null && ![...world.invariants.records.keys()].some((actor) => actor.startsWith(`rip/web/${ref.name}`));

/** One RoutedIP, which two nodes can hold: the younger one gets it. */
export const one =
  (change: Parameters<RoutedWorld['setClass']>[0] = {}) =>
  (world: RoutedWorld): ObjectRef => {
    world.setClass(change);
    world.setNode(NODES.old, NODES.young);
    world.setWeb('shop', ['old', 'young']);
    return world.setRoutedIP('shop');
  };
const onYoung = (world: RoutedWorld, ref: ObjectRef): boolean => stable(world, ref, 'young');
const losesYoung = (world: RoutedWorld): void => world.cluster.setNode({ ...NODES.young, ready: false });
const blogOf = (world: RoutedWorld): ObjectRef | undefined => world.rules.objects().find(({ name }) => name === 'blog');

export const ROUTED_SCENARIOS: readonly Scenario[] = [
  {
    name: 'a RoutedIP is created, opened and assigned',
    before: one(),
    ready: null,
    sends: 'createRoutedIP' as const,
    begin: () => {},
    isOver: onYoung,
    withinMs: 60_000,
    holders: { [MADE]: ['young'] },
    open: { [FIREWALL]: { ports: ['tcp/8080'], nodes: ['young'] } },
  },
  {
    name: 'its node is lost',
    before: one(),
    ready: onYoung,
    sends: 'assignRoutedIP' as const,
    begin: losesYoung,
    isOver: (world: RoutedWorld, ref: ObjectRef) => stable(world, ref, 'old'),
    withinMs: 60_000,
    holders: { [MADE]: ['young', 'old'] },
    open: { [FIREWALL]: { ports: ['tcp/8080'], nodes: ['old'] } },
  },
  {
    name: 'its node is lost, and the firewall comes after the assignment',
    before: one({ firewallPostAllow: true }),
    ready: onYoung,
    sends: 'assignRoutedIP' as const,
    begin: losesYoung,
    isOver: (world: RoutedWorld, ref: ObjectRef) => stable(world, ref, 'old'),
    withinMs: 60_000,
    holders: { [MADE]: ['young', 'old'] },
    open: { [FIREWALL]: { ports: ['tcp/8080'], nodes: ['old'] } },
  },
  {
    name: 'its Service changes a port',
    before: one(),
    ready: onYoung,
    sends: 'addRoutedIPFirewallPort' as const,
    begin: (world: RoutedWorld) => world.cluster.setService('web', 'shop', service(['old', 'young'], { ports: [servicePort(9090)] })),
    isOver: (world: RoutedWorld, ref: ObjectRef) => onYoung(world, ref) && world.firewall().ports.join() === 'tcp/22,tcp/9090',
    withinMs: 60_000,
    holders: { [MADE]: ['young'] },
    open: { [FIREWALL]: { ports: ['tcp/9090'], nodes: ['young'] } },
  },
  {
    name: 'its class names another firewall',
    before: one(),
    ready: onYoung,
    sends: 'deleteRoutedIPFirewallNode' as const,
    begin: (world: RoutedWorld) => void world.setClass({ routedIPFirewallName: 'rim' }),
    isOver: (world: RoutedWorld, ref: ObjectRef) => onYoung(world, ref) && world.firewall().nodes.length === 0,
    withinMs: 60_000,
    holders: { [MADE]: ['young'] },
    open: { rim: { ports: ['tcp/8080'], nodes: ['young'] } },
  },
  {
    name: 'it is deleted, and its address stays',
    before: one(),
    ready: onYoung,
    sends: 'deleteRoutedIPFirewallPort' as const,
    begin: (world: RoutedWorld, ref: ObjectRef) => world.cluster.markDeleting(ref),
    isOver: gone,
    withinMs: 60_000,
    holders: { [MADE]: ['young'] },
    open: {},
  },
  {
    name: 'it is deleted, and its address is given back',
    before: one({ routedIPReclaimPolicy: 'Delete' }),
    ready: onYoung,
    sends: 'deleteRoutedIP' as const,
    begin: (world: RoutedWorld, ref: ObjectRef) => world.cluster.markDeleting(ref),
    isOver: gone,
    withinMs: 60_000,
    holders: {},
    open: {},
  },
  {
    name: 'two share a firewall: one loses its node, and the other is deleted',
    before: (world: RoutedWorld) => {
      const ref = one()(world);
      world.setNode(node('other', { createdAt: 3 }));
      world.setWeb('blog', ['other'], { ports: [servicePort(8080), servicePort(9090)] });
      world.setRoutedIP('blog');
      return ref;
    },
    ready: (world: RoutedWorld, ref: ObjectRef) => {
      const blog = blogOf(world);
      return onYoung(world, ref) && blog !== undefined && stable(world, blog, 'other');
    },
    sends: 'assignRoutedIP' as const,
    begin: (world: RoutedWorld) => {
      const blog = blogOf(world);
      if (blog) world.cluster.markDeleting(blog);
      losesYoung(world);
    },
    isOver: (world: RoutedWorld, ref: ObjectRef) => stable(world, ref, 'old') && blogOf(world) === undefined,
    withinMs: 60_000,
    holders: { [MADE]: ['young', 'old'], [SECOND_MADE]: ['other'] },
    open: { [FIREWALL]: { ports: ['tcp/8080'], nodes: ['old'] } },
  },
].map(routed);
