import fc from 'fast-check';
import { Unreachable } from '../../../actors/ports/errors.ts';
import type { JobAction, JobDriver } from '../../../actors/ports/job-driver.ts';
import type { JobScript, MemoryJobs } from '../../../adapters/memory/job-driver.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { JobRules } from '../../support/job-rules.ts';
import { type OperatorProcess, PROVIDER } from '../../support/world.ts';
import { type Domain, of, type Played, range, type Stage, type Violation } from '../domain.ts';
import type { Milliseconds } from '../history.ts';
import type { CloudPlatform } from '../job-platform.ts';

/** How Jobs of the class go. */
export interface JobSetup {
  /** How long one takes until it has done what it was asked, and may take at most, virtual ms. */
  readonly takesMs: number;
  readonly deadlineMs: number;
  /** How much later its end is seen; at once where this is left out. */
  readonly tellsMs?: Milliseconds;
}

/** What becomes of Jobs. `script`: the next ones of that action go so. `deleteJobs`: somebody deletes those that run. `refuseJobs`: the API server takes none, and tells
 *  nothing of them. `loseJobs`: the next ones are created, and no answer comes. */
export type JobHappening =
  | { readonly kind: 'script'; readonly action: JobAction; readonly script: JobScript; readonly times: number }
  | { readonly kind: 'deleteJobs'; readonly action: JobAction }
  | { readonly kind: 'refuseJobs' | 'allowJobs' }
  | { readonly kind: 'loseJobs'; readonly times: number };

/** The key of the class that Jobs drive. */
const KEY = 'job.floating';
/** How long a request of the API server takes there, and back again, virtual ms. */
const CALL_MS = 10;

/** The Jobs of a class, and what becomes of them. */
class PlayedJobs implements Played<JobHappening> {
  readonly #stage: Stage;
  readonly #jobs: MemoryJobs<CloudPlatform>;
  readonly #rules: JobRules;
  #lost = 0;

  constructor(stage: Stage, jobs: MemoryJobs<CloudPlatform>) {
    this.#stage = stage;
    this.#jobs = jobs;
    this.#rules = new JobRules(jobs);
    stage.begins.push((process) => this.#equip(process));
  }

  act(what: JobHappening): void {
    if (what.kind === 'script') for (let each = 0; each < what.times; each += 1) this.#jobs.script(what.action, what.script);
    else if (what.kind === 'deleteJobs') this.#jobs.remove(what.action);
    else if (what.kind === 'loseJobs') this.#lost = what.times;
    else this.#jobs.refused = what.kind === 'refuseJobs' ? new Unreachable('the API server takes no Jobs') : null;
  }

  mend(): void {
    this.#jobs.refused = null;
    this.#lost = 0;
    this.#jobs.mend();
  }

  /** Nobody lists what Jobs do: whoever moved an address of theirs by hand moves it back. */
  helps(): void {
    const { world, routed, nodes, happens } = this.#stage;
    if (!happens('people', 'moveByHand', 'deleteByHand')) return;
    for (const ref of routed?.refs() ?? []) {
      const { state, routedIP, assignedNode } = world.statusOf(ref);
      // One that somebody deleted, and that is to go anyway, nobody can put back.
      const isThere = world.provider.cloud.addresses().some(({ address }) => address === routedIP);
      const isMoved = isThere && state === 'Stable' && world.holderIfAny(routedIP as Address) !== assignedNode;
      if (isMoved && this.#isDriven(ref)) world.provider.cloud.moveByHand(routedIP as Address, nodes.machineOf(String(assignedNode)));
    }
  }

  #isDriven(ref: ObjectRef): boolean {
    const { className } = (this.#stage.world.cluster.pool(ref)?.spec ?? {}) as { readonly className?: string };
    return className !== undefined;
  }

  wrongs(): readonly string[] {
    const { attacker } = this.#stage;
    // For an attacker, who may ask for what is never to be had, they are made again and again.
    const running = this.#jobs.present.filter(({ state, name }) => state.kind === 'running' && !attacker?.isJobOf(name));
    return running.map(({ name }) => `Job ${name} has not ended`);
  }

  violations(): readonly Violation[] {
    this.#rules.check();
    return this.#rules.violations;
  }

  /** A process has the means to run Jobs. */
  #equip(process: OperatorProcess): void {
    const own = process.providers.all[PROVIDER];
    if (own?.provider) process.providers.set(KEY, { facts: own.facts, provider: { ...own.provider, jobs: this.#driver(process) } });
  }

  /** What is asked of the API server takes its time, and nothing that a process does counts once it has died. */
  #driver(process: OperatorProcess): JobDriver {
    const { clock } = this.#stage.world;
    const alive = (): Promise<void> => (process.dead ? new Promise(() => undefined) : Promise.resolve());
    const way = async (): Promise<void> => {
      await new Promise<void>((resolve) => void clock.after(CALL_MS, resolve));
      await alive();
    };
    const asked = async <T>(ask: () => Promise<T>): Promise<T> => {
      await way();
      if (this.#jobs.refused) throw this.#jobs.refused;
      const answer = await ask();
      await way();
      return answer;
    };
    const driver = this.#jobs.driver({ firewalls: false });
    return {
      ...driver,
      run: (request, known, fence) =>
        asked(async () => {
          const { length } = this.#jobs.created;
          const read = async (): Promise<void> => {
            await fence.read();
            this.#stage.operator.reaches(process, 'beforeSend');
            await alive();
          };
          const state = await driver.run(request, known, { ...fence, read });
          const isNew = this.#jobs.created.length > length;
          if (isNew) this.#stage.operator.reaches(process, 'beforeReplyRead');
          await alive();
          if (!isNew || this.#lost === 0) return state;
          this.#lost -= 1;
          throw new Unreachable('no answer came');
        }),
      look: (request) => asked(() => driver.look(request)),
      clear: (job) => asked(() => driver.clear(job)),
      conclude: (subject, address) => asked(() => driver.conclude(subject, address)),
    };
  }
}

const action = fc.constantFrom<JobAction>('find', 'find', 'create', 'assign', 'assign', 'assign', 'delete');

const script: fc.Arbitrary<JobScript> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('exit' as const),
      code: fc.constantFrom(1, 65, 65, 75, 75, 77),
      afterMs: fc.integer({ min: 0, max: 20_000 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('exit' as const), code: fc.constant(0), afterMs: fc.integer({ min: 0, max: 300_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('exit' as const), code: fc.constant(0), says: fc.constant({}) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('killed' as const), does: fc.boolean(), afterMs: fc.integer({ min: 0, max: 20_000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('hang' as const), does: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ kind: fc.constant('stuck' as const), why: fc.constant('no node has room') },
      forMs: fc.integer({ min: 1_000, max: 60_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stuck' as const), why: fc.constant('no node has room') }) },
);

export const jobSetup: fc.Arbitrary<JobSetup> = fc.record({
  takesMs: fc.constantFrom(500, 2_000, 2_000, 8_000),
  deadlineMs: fc.constantFrom(30_000, 60_000, 300_000),
  tellsMs: range(20_000, 2_000),
});

export const JOBS_DOMAIN: Domain<JobHappening> = {
  sorts: [
    { weight: 4, arbitrary: fc.record({ kind: of('script'), action, script, times: fc.constantFrom(1, 1, 2, 3) }) },
    { weight: 2, arbitrary: fc.record({ kind: of('deleteJobs'), action }) },
    { weight: 1, arbitrary: fc.record({ kind: of('refuseJobs', 'allowJobs', 'allowJobs') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('loseJobs'), times: fc.integer({ min: 1, max: 2 }) }) },
  ],
  open: (stage) => {
    const { jobs } = stage.world;
    if (!jobs) throw new Error('no class is driven by Jobs here');
    return new PlayedJobs(stage, jobs);
  },
};
