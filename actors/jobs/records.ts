import { nameTaken } from '../../machines/dns/zone.ts';
import type { SetFailure, SetOutcome, WantedSet } from '../../machines/jobs.ts';
import { objectOf } from '../../machines/model/actor-id.ts';
import { planRecordSet, type RecordPlan, type RecordStep, relativeName } from '../../machines/model/dns.ts';
import type { ActorId, DNSZone, JobFailure } from '../../machines/model/types.ts';
import { failureOf, ProviderError } from '../ports/errors.ts';
import { done, type JobBody, type JobContext, read, write } from './job.ts';

type Context = JobContext<'ensureRecords'>;

/** Lists the zone, then handles one set after the other: plans it against the list and carries out its steps in order. The failure of a set is its outcome, and the next
 *  set goes on; a run that is cut short or whose answer is lost is repaired by the next one, which lists first. A rate limit ends the run: nothing was sent, and the whole
 *  job runs again after the wait. @throws ProviderError when the zone cannot be listed */
export const ensureRecords: JobBody<'ensureRecords'> = async (context) => {
  const zone = await context.provider.listDNSRecords(context.input.zone, read(context, 'dns'));
  const outcomes: SetOutcome[] = [];
  const owners = new Map<string, ActorId>();
  let refused: JobFailure | null = null;
  for (const set of context.input.sets) {
    const name = relativeName(set.recordName, zone.name) ?? set.recordName;
    const owner = owners.get(name);
    const outcome: SetOutcome = owner === undefined ? await ensure(context, zone, set, refused) : takenBy(owner, set, zone);
    owners.set(name, owner ?? set.claimant);
    outcomes.push(outcome);
    if (outcome.failure?.kind === 'Unauthorized') refused = outcome.failure;
  }
  return done({ zoneName: zone.name, outcomes, ...(context.rerun && { rerun: true }) });
};

/** `refused`: the provider's refusal of the token for an earlier set. It would refuse every write alike. */
async function ensure(context: Context, zone: DNSZone, set: WantedSet, refused: JobFailure | null): Promise<SetOutcome> {
  const { claimant } = set;
  const plan = planRecordSet(zone, set);
  if (plan.refusal !== null) return { claimant, changed: 0, failure: refusalOf(plan.refusal) };
  let changed = 0;
  if (refused && plan.steps.length > 0) return { claimant, changed, failure: refused };
  try {
    for (const step of plan.steps) {
      if (isHeld(context, step)) continue;
      await carryOut(context, step);
      changed += 1;
    }
    const held = plan.steps.length - changed;
    return { claimant, changed, failure: held === 0 ? null : heldBack(set, held) };
  } catch (error) {
    if (!(error instanceof ProviderError) || isLimit(error)) throw error;
    return { claimant, changed, failure: failedStep(error) };
  }
}

const isHeld = ({ careful }: Context, { kind }: RecordStep): boolean => careful && kind === 'delete';

/** It is retried from time to time, and done once the store is back. */
const heldBack = ({ recordName }: WantedSet, held: number): JobFailure => ({
  kind: 'Unavailable',
  message: `${held === 1 ? 'a record' : `${held} records`} of ${recordName} should go: nothing is deleted while the record store is away`,
  retryAfterMs: null,
  unknownOutcome: false,
});

/** The zone has just been listed: a record that is not found was deleted since, and the next list shows what exists. */
const failedStep = (error: ProviderError): JobFailure =>
  error.kind === 'NotFound' ? { ...failureOf(error), kind: 'Unavailable' } : failureOf(error);

const isLimit = ({ kind, unknownOutcome }: ProviderError): boolean => kind === 'RateLimited' && !unknownOutcome;

async function carryOut(context: Context, step: RecordStep): Promise<void> {
  const { provider, input } = context;
  const call = write(context, 'dns');
  switch (step.kind) {
    case 'update':
      return provider.updateDNSRecord(input.zone, step.record, call);
    case 'create':
      return provider.createDNSRecord(input.zone, step.record, call);
    case 'delete':
      return provider.deleteDNSRecord(input.zone, step.id, call);
  }
}

/** Two claimants mean the same name, which only the zone's real name could reveal. */
const takenBy = (owner: ActorId, { claimant, recordName }: WantedSet, zone: DNSZone): SetOutcome => ({
  claimant,
  changed: 0,
  failure: conflict(nameTaken(`${recordName} in zone ${zone.name}`, objectOf(owner))),
});

const refusalOf = ({ why, message }: NonNullable<RecordPlan['refusal']>): SetFailure =>
  why === 'Conflict' ? conflict(message) : { kind: 'Invalid', message, retryAfterMs: null, unknownOutcome: false, outsideZone: true };

const conflict = (message: string): JobFailure => ({ kind: 'Conflict', message, retryAfterMs: null, unknownOutcome: false });
