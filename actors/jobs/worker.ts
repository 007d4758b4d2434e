import type { JobName, ProviderJobName } from '../../machines/jobs.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { type Address, type Finding, fieldsOf } from '../../machines/model/types.ts';
import type { ClusterWriter } from '../ports/cluster.ts';
import { Fenced, failureOf, ProviderError, Unreachable } from '../ports/errors.ts';
import type { Fence } from '../ports/fence.ts';
import type { Leadership } from '../ports/leadership.ts';
import type { JobObserver, JobRun, Log, LogFields, Observer, Probe } from '../ports/observers.ts';
import type { Prepaid, Provider } from '../ports/provider.ts';
import type { ActiveJob, Consumer, JobQueue, JobStep, NewJob, Queues } from '../ports/queues.ts';
import type { Clock, Json, RecordStore } from '../ports/records.ts';
import type { JobSettings } from '../ports/settings.ts';
import type { GroupAddresses } from '../ports/vip.ts';
import { isDoomed } from '../runtime/doomed.ts';
import type { Outage } from '../runtime/outage.ts';
import { assertCommand, type JobData, OUTCOMES, type OutcomeData, outcomeId } from '../runtime/queue-data.ts';
import { type AddressReader, addressReader } from './address-reader.ts';
import { type Again, type JobContext, type JobResult, pollStep } from './job.ts';
import { keeping, observe } from './job-run.ts';
import { namespacesFor, ownerOf } from './owner.ts';
import { bodyOf, jobBodies } from './registry.ts';
import { ServerErrors } from './server-errors.ts';
import { isVipJob, runVipJob, type VipMeans } from './vip-queue.ts';
import { closed } from './withheld.ts';

/** Limit of calls of one run that are paid for at once: others wait meanwhile. */
const PAID_AT_ONCE = 10;

/** How long a job that has to wait is left alone, ms. */
const HELD_MS = 2000;

export interface WorkerPorts {
  readonly queues: Queues;
  readonly store: RecordStore;
  readonly writer: ClusterWriter;
  /** Absent where no IPGroups are served. */
  readonly vips?: { readonly writer: GroupAddresses };
  /** Nothing that changes anything is sent; absent for false. */
  readonly observes?: true;
  /** What the outage of the store asks for; nothing, when absent. */
  readonly outage?: Pick<Outage, 'isAway' | 'isHeld' | 'settledAt'>;
  /** Resolves once statuses show of the actor what its record says. Called before an assign and before something is opened in a firewall, while records are fleeting; they
   *  never are, when absent. @throws Unreachable; ProviderError when the opening is no longer needed; Fenced when a later leader has written the status */
  readonly shown?: (actor: string) => Promise<void>;
  /** Addresses that objects other than that of the actor list, request or have been assigned, as watches show them; none, when absent. */
  readonly namedBeside?: (actor: string) => Promise<ReadonlySet<string>>;
  /** The object of that actor, if it still wants `wanted` served and `given` is not wanted; else null. */
  readonly makesRoom?: (actor: string, wanted: Address, given: Address) => Promise<ObjectRef | null>;
  /** Whether the class of a deleted RoutedIP says that this address of it stays, as watches show both; never, when absent. */
  readonly retains?: (actor: string, address: Address) => boolean;
  readonly leadership: Pick<Leadership, 'lease' | 'seenTerm'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly probe: Probe;
  /** Those that are job observers receive each run. */
  readonly observers?: readonly (Observer & Partial<JobObserver>)[];
  readonly settings: JobSettings;
  /** Whether the queue's jobs are still to be run with this provider; always, when absent. */
  readonly isCurrent?: (queue: string, provider: Provider) => boolean;
}

/** The means of the jobs of a queue. */
export type Means = Provider | VipMeans;

/** Runs the jobs of one queue on this replica: those of a provider, or those about Services. A job completes only after its outcome is queued. */
export function consumeJobs(queue: string, means: Means, ports: WorkerPorts, concurrency: number): Consumer {
  const tools = toolsOf(means, ports);
  const errors = new ServerErrors(ports, 'vips' in tools ? 'later' : 'soon');
  return ports.queues.queue(queue).consume(async (started) => {
    const active = keeping(started);
    assertCommand(active.data, ({ job }) => ('vips' in tools ? isVipJob(String(job)) : Object.hasOwn(jobBodies, String(job))));
    const begun = { at: ports.clock.now(), monotonic: ports.clock.monotonic() };
    const { step, outcome } = isDoomed(queue, active, ports)
      ? await giveUp(active, ports)
      : await runJob(queue, active, tools, { ...ports, errors });
    if (outcome === 'rateLimited' && step.kind === 'again' && 'reader' in tools) tools.reader.spare(step.afterMs);
    observe(active, outcome, begun, ports);
    return step;
  }, concurrency);
}

type Tools = { readonly provider: Provider; readonly reader: AddressReader } | VipMeans;

const toolsOf = (means: Means, { clock, settings }: WorkerPorts): Tools =>
  'findRoutedIP' in means
    ? { provider: means, reader: addressReader({ provider: means, clock, stepMs: pollStep(settings.pollSteps, 0) }) }
    : means;

type RunPorts = WorkerPorts & { readonly errors: ServerErrors };

interface Ran {
  readonly step: JobStep;
  readonly outcome: JobRun['outcome'];
}

async function runJob(queue: string, active: ActiveJob, tools: Tools, ports: RunPorts): Promise<Ran> {
  const data = active.data as unknown as JobData;
  const prepaid: Prepaid = { atOnce: Math.min(active.calls + 1, PAID_AT_ONCE), left: 0, made: 0 };
  if (ports.outage?.isHeld(data.job)) return await hold(data, active, ports);
  try {
    // An earlier process may have ended after it queued the outcome: then all is done, and a second run could contradict that outcome.
    if (active.rerun && (await ports.queues.queue(OUTCOMES).has(outcomeId(data)))) return { step: DONE, outcome: 'fenced' };
    const former = data.resumes ? await takeOver(ports.queues.queue(queue), active, data.resumes) : null;
    const result = await tryJob(data, { active, former, tools, ports, prepaid });
    if (result.kind === 'done') return await end(active, { output: result.output as unknown as Json }, ports);
    await tellWaits(active, result, ports);
    return { step: result, outcome: 'unfinished' };
  } catch (error) {
    return stepAfter(error, { active, prepaid }, { queue, tools, ports });
  }
}

interface Where {
  readonly queue: string;
  readonly tools: Tools;
  readonly ports: RunPorts;
}

/** Identifies the job in the log. */
const jobIn = ({ commandId: job, job: jobName, actor }: JobData): LogFields => ({ job, jobName, actor });

async function stepAfter(error: unknown, run: Pick<Run, 'active' | 'prepaid'>, { queue, tools, ports }: Where): Promise<Ran> {
  const { active } = run;
  if (error instanceof Unreachable) return hinderedByServer(error, active, ports);
  const data = active.data as unknown as JobData;
  if (error instanceof Fenced) ports.log.info('a job was not sent', { ...jobIn(data), error: error.message });
  const hindered = hinderedBy(error, run, isCurrent(queue, tools, ports));
  if (!hindered) return fail(error, active, ports);
  if (hindered.step.kind === 'done') ports.errors.ended(data.commandId);
  else await tellRecovered(active, active.progress, ports).catch(() => undefined);
  return hindered;
}

/** Redis or the API server cannot be reached, or the API server fails: nothing is known to have happened. */
async function hinderedByServer(error: Unreachable, active: ActiveJob, ports: RunPorts): Promise<Ran> {
  const data = active.data as unknown as JobData;
  const { afterMs, waits } = ports.errors.note(data, error);
  if (waits) await tellWait(active, data, waits, ports).catch(() => ports.errors.recovered(data.commandId));
  return { step: { kind: 'again', afterMs, progress: active.progress }, outcome: 'unreachable' };
}

/** Reports what it waits for from now on: a reason of its own, or no longer the API server. @throws Unreachable */
async function tellWaits(active: ActiveJob, { waits, progress }: Again, ports: RunPorts): Promise<void> {
  const data = active.data as unknown as JobData;
  if (waits === undefined) return tellRecovered(active, progress, ports);
  await tellWait(active, data, waits, ports);
  ports.errors.recovered(data.commandId);
}

/** The API server no longer fails it: its own reason for waiting is reported again. @throws Unreachable */
async function tellRecovered(active: ActiveJob, progress: Json, ports: RunPorts): Promise<void> {
  const data = active.data as unknown as JobData;
  const { waits = null } = fieldsOf(progress) as { readonly waits?: Finding | null };
  if (ports.errors.mayBeTold(data.commandId, ports.clock.now() - active.queuedAt)) await tellWait(active, data, waits, ports);
  ports.errors.recovered(data.commandId);
}

function fail(error: unknown, active: ActiveJob, ports: RunPorts): Promise<Ran> {
  const data = active.data as unknown as JobData;
  const failure = failureOf(error);
  const { kind, message, unknownOutcome } = failure;
  if (failure.withheld) ports.log.info('a change is withheld', { ...jobIn(data), message });
  else ports.log.warn('a job failed', { ...jobIn(data), reason: kind, error: message, unknownOutcome });
  return end(active, { error: failure }, ports);
}

function end(active: ActiveJob, outcome: OutcomeData['outcome'], ports: RunPorts): Promise<Ran> {
  const data = active.data as unknown as JobData;
  ports.errors.ended(data.commandId);
  return report(active, data, outcome, ports);
}

const isCurrent = (queue: string, tools: Tools, ports: WorkerPorts): boolean =>
  !('provider' in tools) || (ports.isCurrent?.(queue, tools.provider) ?? true);

/** The progress of the former command's job, as long as this one has left none. After that the former job is removed, which would otherwise end as fenced.
 *  @throws Unreachable */
async function takeOver(queue: JobQueue, { progress, starts }: ActiveJob, former: string): Promise<Json> {
  if (progress === null) return queue.progressOf(former);
  if (starts === 2) void queue.remove(former).catch(() => undefined);
  return null;
}

/** Each of the runs may have got as far as sending something. */
function giveUp(active: ActiveJob, ports: WorkerPorts): Promise<Ran> {
  const text = `it is given up: the process that ran it ended ${active.deaths} times in a row`;
  const error = failureOf(new ProviderError('Unavailable', text, { unknownOutcome: true }));
  return report(active, active.data as unknown as JobData, { error }, ports);
}

/** A job that has to wait. One that occupies a place that others need ends instead, and is requested again after a while. */
async function hold(data: JobData, active: ActiveJob, ports: WorkerPorts): Promise<Ran> {
  if (data.job !== 'prune') return { step: { kind: 'again', afterMs: HELD_MS, progress: active.progress }, outcome: 'unreachable' };
  const error = failureOf(new ProviderError('Unavailable', 'nothing is removed from a firewall while the store is away'));
  return report(active, data, { error }, ports);
}

/** The step for errors that do not reach the actor; null when the job failed. */
function hinderedBy(error: unknown, { active, prepaid }: Pick<Run, 'active' | 'prepaid'>, isProviderCurrent: boolean): Ran | null {
  const again = (afterMs: number) => ({ kind: 'again' as const, afterMs, progress: active.progress });
  if (error instanceof Fenced) return error.why === 'stale' ? { step: again(250), outcome: 'stale' } : { step: DONE, outcome: 'fenced' };
  // A limit's refusal, or one of credentials: nothing was done.
  if (!(error instanceof ProviderError) || error.unknownOutcome) return null;
  // A 429, or our own budget. The job waits without spending a try.
  if (error.kind === 'RateLimited') {
    const step = again(Math.max(50, error.retryAfterMs ?? 1000));
    return { step: { ...step, calls: prepaid.made || active.calls }, outcome: 'rateLimited' };
  }
  // An actor that waited for other credentials was woken when they came: a late refusal of the former ones would make it wait again.
  return error.kind === 'Unauthorized' && !isProviderCurrent ? { step: again(50), outcome: 'unfinished' } : null;
}

const DONE: JobStep = { kind: 'done' };

interface Run {
  readonly active: ActiveJob;
  readonly former: Json;
  readonly tools: Tools;
  readonly ports: WorkerPorts;
  readonly prepaid: Prepaid;
}

function tryJob(data: JobData, { active, former, tools, ports, prepaid }: Run): Promise<JobResult<JobName>> {
  const fence = ports.observes ? closed(fenceOf(data, active, ports), data) : fenceOf(data, active, ports);
  if ('vips' in tools) return runVipJob(data.job, { input: data.input as never, fence }, tools);
  const { provider, reader } = tools;
  const context: JobContext<ProviderJobName> = {
    command: data.commandId,
    term: data.term,
    input: data.input as never,
    get progress() {
      return active.progress;
    },
    former,
    rerun: active.rerun,
    waited: active.starts > 1,
    careful: ports.outage?.isAway ?? false,
    unsettledMs: unsettledMs(data, ports.clock, ports.outage),
    keep: (kept) => active.keep(kept),
    provider,
    reader,
    writer: ports.writer,
    groups: ports.vips?.writer ?? null,
    fence,
    owner: ownerOf(data.actor),
    namespaces: namespacesFor(data.actor, data.input),
    prepaid,
    named: () => namedBeside(data, ports),
    makesRoom: async (wanted, given) => (await ports.makesRoom?.(cellOf(data.actor), wanted, given)) ?? null,
    retains: (address) => ports.retains?.(cellOf(data.actor), address) ?? false,
    clock: ports.clock,
    settings: ports.settings,
  };
  return bodyOf(data.job as ProviderJobName, provider)(context);
}

/** @throws ProviderError InProgress while that is unknown */
async function namedBeside({ actor, recorded = [], making }: JobData, ports: WorkerPorts): Promise<ReadonlySet<string>> {
  if (making)
    throw new ProviderError('InProgress', `an address is being made for ${making}: until that is known, one that is new may be that one`);
  return new Set([...recorded, ...((await ports.namedBeside?.(cellOf(actor))) ?? [])]);
}

/** Queues the outcome, once the queues can be reached, as long as the job is this process's. If the job's lock ran out, the outcome is dropped: the job runs again, and
 *  this outcome would make the machine go on while that run is under way. */
async function report(
  active: ActiveJob,
  data: JobData,
  outcome: OutcomeData['outcome'],
  { queues, clock, log }: WorkerPorts,
): Promise<Ran> {
  const { actor, invokeId, commandId, job: name } = data;
  const title = `${'error' in outcome ? `failed (${outcome.error.kind})` : 'done'}: ${name} ${actor}`;
  const told: NewJob = { id: outcomeId(data), title, data: { actor, invokeId, commandId, outcome: outcome as unknown as Json } };
  for (let attempt = 1; ; attempt += 1) {
    const { renewedAt, durationMs } = active.lock();
    const age = clock.monotonic() - renewedAt;
    // A lock that seems to have just run out may still be renewed.
    if (age >= 2 * durationMs) {
      log.warn('an outcome is not told: the job is not ours any more', jobIn(data));
      return { step: DONE, outcome: 'stale' };
    }
    try {
      if (age >= durationMs) throw new Unreachable(`the lock of ${active.id} was not renewed`);
      await queues.queue(OUTCOMES).add([told]);
      return { step: DONE, outcome: 'error' in outcome ? 'error' : 'success' };
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      log.warn('an outcome could not be queued yet', { ...jobIn(data), attempt, error: error.message });
      await new Promise<void>((resolve) => clock.after(Math.min(200 * attempt, 2000), resolve));
    }
  }
}

/** Reported before the job goes on: after a crash in between it is reported again. @throws Unreachable */
async function tellWait(
  { starts }: ActiveJob,
  { actor, invokeId, commandId, job }: JobData,
  waits: Finding | null,
  { queues }: WorkerPorts,
): Promise<void> {
  const title = `${waits ? `waits (${waits.reason})` : 'goes on'}: ${job} ${actor}`;
  // Without an invoke id, which would make a leader of an earlier version take this for the job's result.
  const data = { actor, invokeId: '', commandId, outcome: { waits, of: invokeId } } as unknown as Json;
  await queues.queue(OUTCOMES).add([{ id: `${commandId}.waits.${starts}`, title, data }]);
}

/** Whether this process may still send for this command. `read` asks the store; `assertFresh` checks, without a pause before the send, that what was read, the job's lock
 *  and the leader's Lease are all still valid. */
function fenceOf(data: JobData, active: ActiveJob, { store, clock, leadership, probe, shown, outage }: WorkerPorts): Fence {
  let readAt = Number.NEGATIVE_INFINITY;
  const about = `${data.job} ${data.actor}`;
  return {
    async read() {
      if (unsettledMs(data, clock, outage) > 0) throw new Unreachable(`${about}: others may still send what was decided before`);
      // Otherwise a successor would not know that an assign may be under way, or what is open because of us.
      if ((data.job === 'assign' || data.job === 'openFirewall') && store.isFleeting?.()) await shown?.(data.actor);
      const started = clock.monotonic();
      const { commandId, term, isElsewhere } = await store.fence(cellOf(data.actor), data.actor, data.invokeId);
      if (commandId !== data.commandId) throw new Fenced(`${about}: another command is waited for`);
      if (term !== data.term) throw new Fenced(`${about}: decided under term ${data.term}, now ${term ?? 'none'} holds`);
      if (isElsewhere) throw new Fenced(`${about}: another server of the store has opened term ${term}`);
      readAt = started;
    },
    assertFresh() {
      // Before the checks: a process that is stopped here notices when it goes on that its time is over.
      probe('beforeSend', about);
      const now = clock.monotonic();
      const lock = active.lock();
      const lease = leadership.lease();
      if (now - readAt > lock.durationMs) throw new Fenced(`${about}: what was read is too old`, 'stale');
      if (now - lock.renewedAt > lock.durationMs) throw new Fenced(`${about}: the job's lock ran out`, 'stale');
      if (now - lease.renewedAt > lease.durationMs) throw new Fenced(`${about}: no leader renewed its lease`, 'stale');
      // That term is about to be opened in the store as well, or the Lease was deleted and its new term is lower, but was not seen yet.
      if (leadership.seenTerm() > data.term) throw new Fenced(`${about}: term ${leadership.seenTerm()} was seen`, 'stale');
    },
  };
}

/** How much longer others may send what was decided before, if the job is in doubt, ms. */
const unsettledMs = (data: JobData, clock: Clock, outage: WorkerPorts['outage']): number =>
  outage && isInDoubt(data) ? Math.max(0, outage.settledAt - clock.monotonic()) : 0;

/** An assign of, or a look for, an address whose earlier assign has an unknown outcome. */
function isInDoubt({ job, input }: JobData): boolean {
  const { inDoubtUntil, notBefore } = input as { readonly inDoubtUntil?: number | null; readonly notBefore?: number | null };
  return (job === 'assign' && inDoubtUntil !== null) || (job === 'find' && typeof notBefore === 'number');
}
