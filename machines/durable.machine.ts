import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { Decision, Effect, SpawnedChart } from './events.ts';
import type { JobInput, JobName, JobOutput } from './jobs.ts';

/** Declares a durable job as an XState actor. Its body is in actors/jobs/ and never runs inside XState: the runtime turns the `invoke` that names it into a job, and the job's
 *  outcome into the event that XState would have raised. */
export const durable = <N extends JobName>(name: N): PromiseActorLogic<JobOutput<N>, JobInput<N>> =>
  fromPromise<JobOutput<N>, JobInput<N>>(() => Promise.reject(new Error(`${name} is a durable job: the runtime runs it, XState must not`)));

type Durables<Names extends JobName> = { readonly [N in Names]: PromiseActorLogic<JobOutput<N>, JobInput<N>> };

/** All durable jobs of a chart. */
export const durables = <const Names extends readonly JobName[]>(...names: Names): Durables<Names[number]> =>
  Object.fromEntries(names.map((name) => [name, durable(name)])) as unknown as Durables<Names[number]>;

/** The `invoke` of a durable job: its body, the id that its outcome carries, and the input taken from the context. */
export const runs = <const Src extends string, const Id extends string, Context, Input>(
  src: Src,
  id: Id,
  input: (context: Context) => Input,
) => ({ src, id, input: ({ context }: { context: Context }) => input(context) });

/** The effects that a decision may have: the runtime carries them out. */
export const EFFECTS = {
  tell: (_: unknown, _params: { to: string; event: { type: string } }) => {},
  spawn: (_: unknown, _params: { chart: SpawnedChart; id: string; input: unknown }) => {},
  claim: (_: unknown, _params: { to: string; event: { type: 'CLAIM' } }) => {},
};

/** Assigns the decided context and enqueues the decided effects. */
export function take<Context>(
  enqueue: { (effect: Effect): void; assign(context: Context): void },
  { context, effects }: Decision<Context>,
): void {
  enqueue.assign(context);
  for (const effect of effects) enqueue(effect);
}

/** Guards of a chart are claims about its context and the event being handled. */
export const asking =
  <Context, Event>() =>
  (claim: (context: Context, event: Event) => boolean) =>
  ({ context, event }: { context: Context; event: Event }) =>
    claim(context, event);
