import { describe, expect, test } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { shareOf } from '../../support/extent.ts';
import { expectOpen, gone, NODES, type Open, one, ROUTED, stable } from '../crash/routed-scenarios.ts';
import { KILL_POINTS } from '../crash/run.ts';
import { FIREWALL, MINUTE, type RoutedWorld, SECOND, service, servicePort } from './world.ts';

/** What is under way when something else comes. */
interface Course {
  readonly name: string;
  readonly before: (world: RoutedWorld) => ObjectRef;
  /** What must hold before it begins; null when it begins with the start of the process. */
  readonly ready: ((world: RoutedWorld, ref: ObjectRef) => boolean) | null;
  readonly begin: (world: RoutedWorld, ref: ObjectRef) => void;
  /** The node on which it ends, and one that can take the address instead. */
  readonly ends: 'young' | 'old';
  readonly instead: 'young' | 'old';
  /** Part of what comes; absent for all of it. */
  readonly comes?: string;
}

const NOTHING = (): void => {};
const onYoung = (world: RoutedWorld, ref: ObjectRef): boolean => stable(world, ref, 'young');
const losesYoung = (world: RoutedWorld): void => world.cluster.setNode({ ...NODES.young, ready: false });

const COURSES: readonly Course[] = [
  { name: 'a RoutedIP is made', before: one(), ready: null, begin: NOTHING, ends: 'young', instead: 'old' },
  {
    name: 'a RoutedIP is made whose address is not to be kept',
    before: one({ routedIPReclaimPolicy: 'Delete' }),
    ready: null,
    begin: NOTHING,
    ends: 'young',
    instead: 'old',
    comes: 'it is deleted',
  },
  { name: 'its address moves', before: one(), ready: onYoung, begin: losesYoung, ends: 'old', instead: 'young' },
  {
    name: 'its address moves, and the firewall comes after it',
    before: one({ firewallPostAllow: true }),
    ready: onYoung,
    begin: losesYoung,
    ends: 'old',
    instead: 'young',
  },
];

/** What comes, and how it must end. */
interface Comes {
  readonly what: string;
  readonly act: (world: RoutedWorld, ref: ObjectRef, course: Course) => void;
  readonly isOver: (world: RoutedWorld, ref: ObjectRef, course: Course) => boolean;
  readonly open: (course: Course) => Open;
  readonly expectEnd?: (world: RoutedWorld, course: Course) => void;
}

const endsWell = (world: RoutedWorld, ref: ObjectRef, { ends }: Course): boolean => stable(world, ref, ends);
const openAt = (node: string, port = 'tcp/8080', firewall = FIREWALL): Open => ({ [firewall]: { ports: [port], nodes: [node] } });
const openWhereItEnds = ({ ends }: Course): Open => openAt(ends);

const isDeletedWhileCreating = ({ invariants }: RoutedWorld): boolean =>
  invariants.turns.some(({ transitions }) =>
    transitions.some(({ events, before }) => events.includes('DELETED') && JSON.stringify(before?.snapshot.value).includes('Creating')),
  );

const COMES: readonly Comes[] = [
  {
    what: 'it is deleted',
    act: (world, ref) => world.cluster.markDeleting(ref),
    isOver: gone,
    open: () => ({}),
    expectEnd: (world, { name }) => {
      if (!name.includes('not to be kept')) return;
      // What the call has answered is given back. Of what only a list shows, since it was deleted before that, people are told.
      const left = world.provider.cloud.addresses().map(({ address }) => `${address} may have been made for this RoutedIP`);
      const told = world.cluster.announced.map(({ event }) => event.message).join('\n');
      expect(left.filter((text) => !isDeletedWhileCreating(world) || !told.includes(text))).toEqual([]);
    },
  },
  {
    what: 'another process leads, while the former one lives on',
    act: (world) => {
      for (const { lease } of world.processes) lease.cut();
      world.lease.delete();
      void world.start();
    },
    isOver: endsWell,
    open: openWhereItEnds,
  },
  {
    what: 'Redis is emptied under the running process',
    act: (world) => {
      world.store.wipe();
      world.queues.wipe();
    },
    isOver: endsWell,
    open: openWhereItEnds,
  },
  {
    what: 'the node that is to get it is lost',
    act: (world, _, { ends, instead }) => world.cluster.setNode({ ...NODES[ends], ready: false }, NODES[instead]),
    isOver: (world, ref, { instead }) => stable(world, ref, instead),
    open: ({ instead }) => openAt(instead),
  },
  {
    what: 'its Service changes its port',
    act: (world) => world.cluster.setService('web', 'shop', service(['old', 'young'], { ports: [servicePort(9090)] })),
    isOver: (world, ref, course) => endsWell(world, ref, course) && !world.firewall().ports.includes('tcp/8080'),
    open: ({ ends }) => openAt(ends, 'tcp/9090'),
  },
  {
    what: 'its class names another firewall',
    act: (world) => void world.setClass({ routedIPFirewallName: 'rim' }),
    isOver: (world, ref, course) => endsWell(world, ref, course) && world.firewall().nodes.length === 0,
    open: ({ ends }) => openAt(ends, 'tcp/8080', 'rim'),
  },
];

interface At {
  readonly point: KillPoint;
  /** The n-th time that it is passed, from 1. */
  readonly occurrence: number;
}

/** Lets the course happen, and at one of its points what comes. Answers how often each point was passed. */
async function play(course: Course, comes: Comes | null, at: At | null): Promise<Record<string, number>> {
  const world = ROUTED();
  const ref = course.before(world);
  const passed: Record<string, number> = {};
  let armed = course.ready === null;
  let came = false;
  await world.start((point) => {
    if (!armed || came) return false;
    passed[point] = (passed[point] ?? 0) + 1;
    if (point === at?.point && passed[point] === at.occurrence) {
      came = true;
      comes?.act(world, ref, course);
    }
    return false;
  });
  const { ready } = course;
  if (ready) await world.clock.runUntil(() => ready(world, ref), MINUTE);
  armed = true;
  course.begin(world, ref);
  const isOver = (): boolean => (at === null || came) && (comes?.isOver ?? endsWell)(world, ref, course);
  await world.clock.runUntil(isOver, 5 * MINUTE);
  armed = false;
  await world.clock.advance(40 * SECOND);
  expect(isOver()).toBe(true);
  expectOpen(world, comes?.open(course) ?? openWhereItEnds(course));
  comes?.expectEnd?.(world, course);
  expect(world.provider.cloud.addresses().length).toBeLessThanOrEqual(1);
  for (const process of world.processes) process.kill();
  return passed;
}

describe.each(COURSES)('while $name', (course) => {
  test.each(COMES.filter(({ what }) => what === (course.comes ?? what)))(
    'and $what, at any point: it ends as it must',
    { timeout: 120_000 },
    async (comes) => {
      const passed = await play(course, null, null);
      // What is passed last may be passed when all is over.
      const points = KILL_POINTS.flatMap((point) =>
        Array.from({ length: passed[point] ?? 0 }, (_, index) => ({ point, occurrence: index + 1 })),
      );
      expect(points.length).toBeGreaterThan(50);
      for (const at of shareOf(points, 8)) {
        await play(course, comes, at).catch((error: unknown) => {
          throw new Error(`${course.name}, ${comes.what}, ${at.point} ${at.occurrence}: ${String(error)}`, { cause: error });
        });
      }
    },
  );
});
