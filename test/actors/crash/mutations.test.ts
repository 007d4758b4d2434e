import { afterEach, describe, expect, test, vi } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import { Cell } from '../../../actors/runtime/cell.ts';
import type { Chart } from '../../../actors/runtime/charts.ts';
import { type Spoil, state } from '../../machines/mutations-spoil.ts';
import { shareOf } from '../../support/extent.ts';
import type { WorldOptions } from '../../support/world.ts';
import { type Crash, KILL_POINTS, run, type Takeover } from './run.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

const statuses = vi.hoisted(() => ({ forgotten: false }));
vi.mock(import('../../../machines/status/restore-pool.ts'), async (load) => {
  const real = await load();
  return { ...real, addressesIn: (status) => (statuses.forgotten ? [] : real.addressesIn(status)) };
});

afterEach(() => {
  vi.restoreAllMocks();
  statuses.forgotten = false;
});

/** A defect that does no harm until a process ends in the middle. */
interface Mutation {
  readonly mutation: string;
  readonly scenario: string;
  readonly spoil?: NonNullable<WorldOptions['spoil']>;
  readonly sabotage?: () => void;
  /** Points at which an end has to bring it to light, at one of the times that they are passed. */
  readonly points: readonly KillPoint[];
}

const inChart =
  (name: 'ip' | 'pool', spoil: Spoil): NonNullable<WorldOptions['spoil']> =>
  (charts) => ({ ...charts, [name]: spoil(charts[name] as Chart) });

const MUTATIONS: readonly Mutation[] = [
  {
    mutation: 'a creation that was interrupted counts as never made',
    scenario: 'creation',
    spoil: inChart(
      'pool',
      state('Serving.acquiring.Creating', (config) => ({
        ...config,
        on: { RESUME: { target: 'Complete', actions: ['noteNothingMade', 'forgetFacts'] } },
      })),
    ),
    // A call that was decided and not sent yet is decided anew, and harms nobody.
    points: ['beforeWrite', 'beforeReplyRead', 'afterReply'],
  },
  {
    mutation: 'nobody is told to go on after a load',
    scenario: 'first assignment',
    sabotage: () => {
      const send = Cell.prototype.send;
      vi.spyOn(Cell.prototype, 'send').mockImplementation(function (this: Cell, envelope) {
        return envelope.event.type === 'RESUME' ? Promise.resolve() : send.call(this, envelope);
      });
    },
    points: ['afterDispatch', 'beforeSend'],
  },
  {
    mutation: 'an assign that was under way is not asked for again after a load',
    scenario: 'failover',
    spoil: inChart(
      'ip',
      state('Assigning', (config) => ({ ...config, on: { ...config.on, RESUME: {} } })),
    ),
    points: ['beforeSend'],
  },
  {
    mutation: 'a new leader does not know which addresses a pool has shown on its nodes',
    scenario: 'retire',
    sabotage: () => {
      statuses.forgotten = true;
    },
    points: ['beforeWrite', 'afterWrite', 'afterDispatch', 'beforeSend'],
  },
];

const TAKEOVERS: readonly Takeover[] = ['lease runs out', 'lease is deleted'];

const survives = (scenario: Scenario, crash: Crash, takeover: Takeover): Promise<boolean> =>
  run(scenario, [crash], takeover).then(
    ({ crashed }) => crashed === 1,
    () => false,
  );

/** The first end at the point that is not survived; null when each one is. */
async function deadly(scenario: Scenario, point: KillPoint, times: number): Promise<string | null> {
  for (const takeover of TAKEOVERS) {
    for (let occurrence = 1; occurrence <= times; occurrence += 1) {
      if (!(await survives(scenario, { point, occurrence }, takeover))) return `${point} ${occurrence}, ${takeover}`;
    }
  }
  return null;
}

describe('an end in the middle brings to light that', () => {
  test.each(shareOf(MUTATIONS, 3))('$mutation', async ({ scenario: name, spoil, sabotage, points }) => {
    const scenario = SCENARIOS.find((each) => each.name === name);
    if (!scenario) throw new Error(`there is no scenario ${name}`);
    sabotage?.();
    const spoilt: Scenario = { ...scenario, options: { ...scenario.options, ...(spoil && { spoil }) } };
    // Without an end it does no harm: the scenario ends as it must.
    const { hits } = await run(spoilt, [], 'lease runs out');
    for (const point of points) expect(await deadly(spoilt, point, hits[point]), point).not.toBeNull();
  });

  test('an end at any point is needed for one of them', () => {
    expect([...new Set(MUTATIONS.flatMap(({ points }) => points))].sort()).toEqual([...KILL_POINTS].sort());
  });
});
