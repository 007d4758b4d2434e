import { expect } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import type { Fault } from '../../../adapters/memory/faults.ts';
import { expectSound } from '../../support/sound.ts';
import { type Killer, type OperatorProcess, World } from '../../support/world.ts';
import type { Scenario } from './scenarios.ts';

export const KILL_POINTS: readonly KillPoint[] = [
  'beforeWrite',
  'afterWrite',
  'afterDispatch',
  'beforeSend',
  'beforeReplyRead',
  'afterReply',
];

/** The points around a call that changes something at the provider, reads aside. */
type AroundChange = Extract<KillPoint, 'beforeSend' | 'beforeReplyRead' | 'afterReply'>;

/** Where a process may end: at any point, and of those around calls at one around a change alone. */
export type Place = KillPoint | `${AroundChange} of a change`;

export const PLACES: readonly Place[] = [...KILL_POINTS, 'beforeSend of a change', 'beforeReplyRead of a change', 'afterReply of a change'];

/** How often each place was passed. */
export type Hits = Record<Place, number>;

/** Ends a process at the n-th time, from 1, that it passes the point; `any` counts all points together. */
export interface Crash {
  readonly point: KillPoint | 'any';
  readonly occurrence: number;
}

/** How the next process gets the lease: when it runs out, or at once, while calls of the former process are still on their way. With Redis everything
 *  goes that was remembered, but for what the status of the objects says. */
export type Takeover = 'lease runs out' | 'lease is deleted' | 'Redis is emptied';

export interface Outcome {
  /** How often the first process passed each place. */
  readonly hits: Hits;
  /** How many processes ended at a crash. */
  readonly crashed: number;
  /** Assigns that pointed an address to where it was already. */
  readonly repeats: number;
}

const noHits = (): Hits => Object.fromEntries(PLACES.map((place) => [place, 0])) as Hits;

/** What is told of a point around a call begins with its verb. */
const isChange = (about: string): boolean =>
  /^(?:(?:assign|unassign|create|delete|add)RoutedIP|(?:reserve|publish|free|release)Vips? |(?:un)?guard |(?:reserve|publish|free) )/.test(
    about,
  ) ||
  /^(?:claimService|reassociateIP|handOverIP|convertService|assignIngress|removeClone|releaseVirtualIP|mark|convert|settle|markVip|contend) /.test(
    about,
  );

const count = (hits: Hits, point: KillPoint, about: string): void => {
  hits[point] += 1;
  const place = `${point} of a change`;
  if (place in hits && isChange(about)) hits[place as Place] += 1;
};

/** Lets the scenario happen. A process ends at each of the crashes in turn, and another one starts. The last one survives, and must reach the end
 *  that was to be reached without a crash; nothing that must never be may have been meanwhile. Answers how often the first process passed each place. */
export async function run(scenario: Scenario, crashes: readonly Crash[], takeover: Takeover): Promise<Outcome> {
  const world = opened(scenario);
  const ref = scenario.before(world);
  const hits = noHits();
  let armed = scenario.ready === null;
  let passed = 0;
  let next = 0;
  const kills = (first: boolean) => (point: KillPoint, about: string) => {
    if (!armed) return false;
    if (first) count(hits, point, about);
    const crash = crashes[next];
    if (!crash || (crash.point !== 'any' && crash.point !== point)) return false;
    passed += 1;
    if (passed < crash.occurrence) return false;
    next += 1;
    passed = 0;
    return true;
  };
  let process = await world.start(kills(true));
  const { ready } = scenario;
  if (ready) await world.clock.runUntil(() => ready(world, ref), 60_000);
  armed = true;
  scenario.begin(world, ref);
  while (next < crashes.length || process.dead) {
    // A crash that comes only after the end of the scenario comes too late for a test; the scenarios go on long enough for all that are counted.
    await world.clock.runUntil(() => process.dead || isOver(scenario, world, process, ref), scenario.withinMs + 60_000);
    if (!process.dead) break;
    process = await successor(world, takeover, kills(false));
  }
  await world.clock.runUntil(() => isOver(scenario, world, process, ref), scenario.withinMs + 60_000);
  await world.clock.advance(40_000);
  expectEnd(scenario, world, ref);
  armed = false;
  if (scenario.afterwards && process.dead) process = await successor(world, takeover, kills(false));
  await scenario.afterwards?.(world, ref);
  process.kill();
  return { hits, crashed: next, repeats: world.invariants.repeats.length };
}

/** Lets the scenario happen with one of its calls meeting the fault, and ends the process a second after that call was sent. */
export async function runWithCallOnItsWay(
  scenario: Scenario,
  verb: NonNullable<Scenario['sends']>,
  fault: Fault,
  takeover: Takeover,
): Promise<void> {
  const world = opened(scenario);
  const ref = scenario.before(world);
  const { ready } = scenario;
  if (!ready) world.provider.faults.next(verb, fault);
  const first = await world.start();
  if (ready) await world.clock.runUntil(() => ready(world, ref), 60_000);
  if (ready) world.provider.faults.next(verb, fault);
  const since = world.provider.calls.length;
  scenario.begin(world, ref);
  await world.clock.runUntil(() => world.provider.calls.slice(since).some((call) => call.verb === verb), scenario.withinMs);
  await world.clock.advance(1_000);
  first.kill();
  const second = await successor(world, takeover, () => false);
  await world.clock.runUntil(() => isOver(scenario, world, second, ref), scenario.withinMs + 60_000);
  await world.clock.advance(40_000);
  expectEnd(scenario, world, ref);
  await scenario.afterwards?.(world, ref);
  second.kill();
}

const opened = ({ open, options }: Scenario): World => open?.(options) ?? new World(options);

const isOver = (scenario: Scenario, world: World, process: OperatorProcess, ref: Parameters<Scenario['isOver']>[1]): boolean =>
  !process.dead && process.supervisor.leading && scenario.isOver(world, ref);

const successor = async (world: World, takeover: Takeover, kills: Killer): Promise<OperatorProcess> => {
  if (takeover === 'lease is deleted') world.lease.delete();
  else await world.clock.advance(3_000);
  if (takeover === 'Redis is emptied') {
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
  }
  return world.start(kills);
};

function expectEnd(scenario: Scenario, world: World, ref: Parameters<Scenario['isOver']>[1]): void {
  expect(scenario.isOver(world, ref)).toBe(true);
  const held = Object.fromEntries(
    world.provider.cloud
      .addresses()
      .map(({ address }) => [
        address,
        world.provider.cloud.history(address).map(({ providerID }) => providerID?.replace('digitalocean://', '') ?? null),
      ]),
  );
  expect(held).toEqual(scenario.holders);
  const serving = world.cluster.pool(ref) ? Object.keys(world.states(ref)) : [];
  expect(world.cluster.annotations()).toEqual(Object.fromEntries(serving.map((address) => [world.holderOf(address), address])));
  scenario.expectEnd?.(world, ref);
  expectSound(world);
}
