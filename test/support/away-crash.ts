import { expect } from 'vitest';
import type { ObjectRef } from '../../machines/model/types.ts';
import { type Crash, KILL_POINTS } from '../actors/crash/run.ts';
import type { Scenario } from '../actors/crash/scenarios.ts';
import { expectSound } from './sound.ts';
import { type OperatorProcess, World } from './world.ts';

const SECOND = 1000;

/** What Redis is like when the next process starts after one that ended while Redis was away. */
export type RedisThen =
  | 'still away'
  /** It has all that it had when it went: nothing of what was decided since. */
  | 'back'
  | 'back and empty';

export const REDIS_THEN: readonly RedisThen[] = ['still away', 'back', 'back and empty'];

/** Something that happens while Redis is away. */
export interface AwayScenario extends Scenario {
  /** What is reached while Redis stays away; the rest is when it is back. */
  readonly isOverAway: (world: World, ref: ObjectRef) => boolean;
}

/** Nobody reaches Redis any more. */
export const redisGoes = (world: World): void => {
  world.store.goDown();
  world.queues.goDown();
};

export const redisReturns = (world: World): void => {
  world.store.comeBack();
  world.queues.comeBack();
};

/** Nothing is left of what Redis had. */
export const redisIsEmptied = (world: World): void => {
  world.store.wipe();
  world.queues.wipe();
};

/** How often a process went on in its memory. */
export const aways = (world: World): number => world.log.filter(({ message }) => message === 'goes on without the store').length;

/** Ends processes at one crash after the other, once it is armed. */
class Killing {
  armed: boolean;
  /** How many have been carried out. */
  crashed = 0;
  #passed = 0;
  readonly #crashes: readonly Crash[];

  constructor(crashes: readonly Crash[], armed: boolean) {
    this.#crashes = crashes;
    this.armed = armed;
  }

  get isOver(): boolean {
    return this.crashed >= this.#crashes.length;
  }

  /** Whether the point is one at which the next crash may be. */
  counts(point: Crash['point']): boolean {
    const crash = this.#crashes[this.crashed];
    return this.armed && (!crash || crash.point === 'any' || crash.point === point);
  }

  kills(point: Crash['point']): boolean {
    const crash = this.#crashes[this.crashed];
    if (!crash || !this.counts(point)) return false;
    this.#passed += 1;
    if (this.#passed < crash.occurrence) return false;
    this.crashed += 1;
    this.#passed = 0;
    return true;
  }
}

interface AwayRun {
  /** How often each point was passed by the first process while Redis was away. */
  readonly passed: number;
  readonly crashed: number;
}

/** Redis goes away, and then the scenario happens. A process ends at each of the crashes in turn, and with it what only its memory had; another one starts. What is to be
 *  reached without Redis is, the rest when it is back, and nothing that must never be may have been meanwhile. */
export async function runAway(scenario: AwayScenario, crashes: readonly Crash[], then: RedisThen): Promise<AwayRun> {
  const options = { ...scenario.options, away: true };
  const world = scenario.open?.(options) ?? new World(options);
  const ref = scenario.before(world);
  const killing = new Killing(crashes, scenario.ready === null);
  let passed = 0;
  const kills = (first: boolean) => (point: Crash['point']) => {
    if (first && killing.counts(point)) passed += 1;
    return killing.kills(point);
  };
  if (scenario.ready === null) redisGoes(world);
  let process = await world.start(kills(true));
  await goesAway(world, scenario, ref, process);
  killing.armed = true;
  scenario.begin(world, ref);
  const isOver = (): boolean => !process.dead && process.supervisor.leading && scenario.isOverAway(world, ref);
  while (!killing.isOver || process.dead) {
    await world.clock.runUntil(() => process.dead || isOver(), scenario.withinMs + 120 * SECOND);
    if (!process.dead) break;
    process = await successor(world, then, kills(false));
  }
  await world.clock.runUntil(isOver, scenario.withinMs + 120 * SECOND);
  killing.armed = false;
  redisReturns(world);
  const isWhole = (): boolean => process.supervisor.leading && scenario.isOver(world, ref);
  await world.clock.runUntil(isWhole, scenario.withinMs + 120 * SECOND);
  await world.clock.advance(60 * SECOND);
  expectEnd(scenario, world, ref);
  await scenario.afterwards?.(world, ref);
  process.kill();
  return { passed, crashed: killing.crashed };
}

/** All is well, then Redis goes, and who leads goes on without it. One that is to begin with nothing begins without Redis. */
async function goesAway(world: World, { ready }: AwayScenario, ref: ObjectRef, process: OperatorProcess): Promise<void> {
  if (!ready) return;
  await world.clock.runUntil(() => ready(world, ref), 60 * SECOND);
  await world.clock.advance(5 * SECOND);
  redisGoes(world);
  await world.clock.runUntil(() => aways(world) === 1 && process.supervisor.leading, 10 * SECOND);
  await world.clock.advance(SECOND);
  expect([world.status(ref) !== null, world.invariants.violations]).toEqual([true, []]);
}

async function successor(world: World, then: RedisThen, kills: Parameters<World['start']>[0]): Promise<OperatorProcess> {
  await world.clock.advance(3 * SECOND);
  world.invariants.forget();
  if (then === 'back and empty') redisIsEmptied(world);
  if (then !== 'still away') redisReturns(world);
  return world.start(kills);
}

function expectEnd(scenario: AwayScenario, world: World, ref: ObjectRef): void {
  expect(scenario.isOver(world, ref)).toBe(true);
  const held = world.provider.cloud
    .addresses()
    .map(({ address }) => [address, world.provider.cloud.history(address).map(({ providerID }) => nameOf(providerID))]);
  expect(Object.fromEntries(held)).toEqual(scenario.holders);
  const serving = world.cluster.pool(ref) ? Object.keys(world.states(ref)) : [];
  expect(world.cluster.annotations()).toEqual(Object.fromEntries(serving.map((address) => [world.holderOf(address), address])));
  scenario.expectEnd?.(world, ref);
  expectSound(world);
}

const nameOf = (providerID: string | null): string | null => providerID?.replace('digitalocean://', '') ?? null;

/** Ends the process at the points of a scenario, one in `every` of them, and says which crash it was when one is not survived. Answers how many were.
 *  @throws Error */
export async function crashEverywhere(scenario: AwayScenario, then: RedisThen, every: number): Promise<number> {
  let [runs, turn] = [0, REDIS_THEN.indexOf(then)];
  for (const point of KILL_POINTS) {
    // Asked to end at a time that never comes, it passes all.
    const { passed } = await attempt(scenario, [{ point, occurrence: Number.POSITIVE_INFINITY }], then);
    expect(passed, `${scenario.name} passes ${point}`).toBeGreaterThan(0);
    for (let occurrence = 1; occurrence <= passed; occurrence += 1) {
      turn += 1;
      if (turn % every !== 0) continue;
      const { crashed } = await attempt(scenario, [{ point, occurrence }], then);
      expect(crashed, `${point} ${occurrence} was not passed again`).toBe(1);
      runs += 1;
    }
  }
  return runs;
}

/** @throws Error that says which crashes it was */
export async function attempt(scenario: AwayScenario, crashes: readonly Crash[], then: RedisThen): Promise<AwayRun> {
  try {
    return await runAway(scenario, crashes, then);
  } catch (error) {
    throw new Error(`${scenario.name}, Redis ${then}, crashes ${JSON.stringify(crashes)}: ${String(error)}`, { cause: error });
  }
}
