import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { Address, JobFailure } from '../../../machines/model/types.ts';
import { CREATE_CLAIM, type PoolContext } from '../../../machines/pool/context.ts';
import { A, B, C, cutOff, failure, node, observed, providerIDOf, refOf, SECOND, START } from '../builders.ts';
import type { Telling } from '../explore.ts';
import { assigned, cluster, event, failed, named, provided, ready, spec } from './world.ts';

const failing = (job: string, ...failures: readonly JobFailure[]) => failures.map((error) => event(`xstate.error.actor.${job}`, { error }));

/** Facts, sends and timers of a pool that lists A and B, on nodes a and b. */
export const GRANTING = [
  event('SPEC_OBSERVED', spec({ assignmentCoolOffSeconds: 20 })),
  event('SPEC_OBSERVED', spec({ ips: [B] })),
  event('SPEC_OBSERVED', spec({ provider: 'aws' })),
  event('CLUSTER_OBSERVED', named('a')),
  event('CLUSTER_OBSERVED', named('a', 'b')),
  event('PROVIDER_OBSERVED', provided(observed(A), observed(B), observed(C, 'b'))),
  event('CLAIMS_OBSERVED', { fullNodes: [] }),
  event('CLAIMS_OBSERVED', { fullNodes: ['a'] }),
  event('DELETED'),
  event('CLEARED'),
  event('RESUME'),
  event('READY', ready(A)),
  event('READY', ready(B, 'a')),
  event('ASSIGNED', assigned(A, refOf('a'))),
  event('FAILED', failed(A, 'NodeInUse', refOf('a'))),
  event('FAILED', failed(A, 'NotFound', null)),
  event('GONE', { address: A }),
  event('xstate.after.nextGrant.pool.Serving.granting.Spacing', {}, START + 20 * SECOND),
];

const ZONE = { dnsRecordSet: { zone: 'example.com', recordName: 'web' } };

/** What decides which addresses a pool that lists A and B has published. */
export const NAMING = [
  event('SPEC_OBSERVED', spec(ZONE)),
  event('SPEC_OBSERVED', spec()),
  event('SPEC_OBSERVED', spec({ provider: 'aws', ...ZONE })),
  event('CLUSTER_OBSERVED', named('b')),
  event('CLUSTER_OBSERVED', named('a', 'b')),
  event('PROVIDER_OBSERVED', provided(observed(A), observed(B, 'b'))),
  event('DELETED'),
  event('CLEARED'),
  event('RESUME'),
  event('READY', ready(A)),
  event('READY', ready(B, 'b')),
  event('ASSIGNED', assigned(A, refOf('a'))),
  event('ASSIGNED', assigned(B, refOf('b'))),
  event('FAILED', failed(A, 'NotFound', null)),
  event('xstate.after.naming.pool.Serving.naming.Settling', {}, START + 2 * SECOND),
];

const GRACE = { ips: [A], recoveryGraceSeconds: 30 };

/** What decides whether a node that fails has time to come back, for a pool that lists A, on nodes a and b. */
export const RECOVERING = [
  event('SPEC_OBSERVED', spec(GRACE)),
  event('SPEC_OBSERVED', spec({ ...GRACE, recoveryGraceSeconds: 5 })),
  event('SPEC_OBSERVED', spec({ ...GRACE, provider: 'aws' })),
  event('CLUSTER_OBSERVED', named('a', 'b')),
  event('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b'))),
  event('CLUSTER_OBSERVED', cluster(node('a').notReady())),
  event('CLUSTER_OBSERVED', named('b')),
  event('PROVIDER_OBSERVED', provided(observed(A))),
  event('CLAIMS_OBSERVED', { fullNodes: ['b'] }),
  event('DELETED'),
  event('RESUME'),
  event('READY', ready(A)),
  event('READY', ready(A, 'a')),
  event('ASSIGNED', assigned(A, refOf('a'))),
  event('xstate.done.actor.findNodes', { output: { gone: [providerIDOf('a')] } }),
  event('xstate.done.actor.findNodes', { output: { gone: [] } }),
  ...failing('findNodes', failure('Unavailable')),
  event('xstate.after.recovery.pool.Serving.recovering.Waiting', {}, START + 5 * SECOND),
  event('xstate.after.recovery.pool.Serving.recovering.Waiting', {}, START + 30 * SECOND),
];

const DRAIN = { ips: [A, B], drainPolicy: 'OnCordon' };

/** What decides whether an address leaves a node that is about to go, for a pool that lists A and B, on nodes a, b and c. */
export const DRAINING = [
  event('SPEC_OBSERVED', spec(DRAIN)),
  event('SPEC_OBSERVED', spec({ ...DRAIN, assignmentCoolOffSeconds: 20 })),
  event('CLUSTER_OBSERVED', named('a', 'b')),
  event('CLUSTER_OBSERVED', cluster(node('a').cordoned(), node('b').goingAway())),
  event('CLUSTER_OBSERVED', cluster(node('a').cordoned(), node('b').goingAway(), node('c'))),
  event('CLUSTER_OBSERVED', cluster(node('a').cordoned().notReady(), node('b'))),
  event('PROVIDER_OBSERVED', provided(observed(A, 'a'), observed(B, 'b'))),
  event('READY', ready(A, 'a')),
  event('READY', ready(B, 'b')),
  event('ASSIGNED', assigned(A, refOf('a'), false)),
  event('ASSIGNED', assigned(B, refOf('b'), false)),
  event('ASSIGNED', assigned(A, refOf('c'))),
  event('xstate.after.nextGrant.pool.Serving.granting.Spacing', {}, START + 20 * SECOND),
];

const CONTEND = { ips: [A], contention: { moves: 2, windowSeconds: 600 } };

/** What decides whether an address that somebody else moves is taken back, for a pool that lists A, on nodes a and b. */
export const CONTENDING = [
  event('SPEC_OBSERVED', spec(CONTEND)),
  event('SPEC_OBSERVED', spec({ ...CONTEND, contention: { ...CONTEND.contention, takeover: 'Reclaim' } })),
  event('SPEC_OBSERVED', spec({ ips: [A] })),
  event('CLUSTER_OBSERVED', named('a')),
  event('CLUSTER_OBSERVED', named('a', 'b')),
  event('CLUSTER_OBSERVED', named()),
  event('PROVIDER_OBSERVED', provided(observed(A, 'a'))),
  event('RESUME'),
  event('READY', ready(A)),
  event('READY', ready(A, 'a')),
  event('READY', ready(A, 'z')),
  event('ASSIGNED', assigned(A, refOf('a'))),
  event('FAILED', failed(A, 'Conflict', refOf('a'), 'z')),
  event('xstate.after.nextGrant.pool.Serving.granting.Spacing', {}, START + 600 * SECOND),
];

const HOLD = { ips: [A], safeHold: { maxUnavailable: 1, windowSeconds: 60 } };

/** What decides whether anything is moved when nodes go, for a pool that lists A, on nodes a, b and c. */
export const HOLDING = [
  event('SPEC_OBSERVED', spec(HOLD)),
  event('SPEC_OBSERVED', spec({ ips: [A] })),
  event('CLUSTER_OBSERVED', named('a', 'b', 'c')),
  event('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b'), node('c'))),
  event('CLUSTER_OBSERVED', named('c')),
  event('CLUSTER_OBSERVED', named('b'), START + 120 * SECOND),
  event('PROVIDER_OBSERVED', provided(observed(A, 'a'))),
  event('READY', ready(A, 'a')),
  event('ASSIGNED', assigned(A, refOf('a'), false)),
  event('xstate.done.actor.findNodes', { output: { gone: [providerIDOf('a')] } }),
  event('xstate.done.actor.findNodes', { output: { gone: [] } }),
  event('xstate.after.recovery.pool.Serving.recovering.Waiting', {}, START + 60 * SECOND),
];

const PAUSE = { marks: { paused: 'true' } };

/** What a pool that lists A does while it is paused, on nodes a and b. */
export const PAUSING = [
  event('SPEC_OBSERVED', spec({ ips: [A], ...ZONE })),
  event('SPEC_OBSERVED', spec({ ips: [A], ...ZONE }, PAUSE)),
  event('SPEC_OBSERVED', spec({ ips: [B], desiredIPs: 2 }, PAUSE)),
  event('CLUSTER_OBSERVED', named('a', 'b')),
  event('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b'))),
  event('PROVIDER_OBSERVED', provided(observed(A, 'a'), observed(B))),
  event('RESUME'),
  event('READY', ready(A)),
  event('READY', ready(A, 'a')),
  event('ASSIGNED', assigned(A, refOf('a'))),
  event('xstate.after.naming.pool.Serving.naming.Settling', {}, START + 2 * SECOND),
];

/** What becomes of a request to move A, for a pool that lists A and B, on nodes a, b and c. */
export const MOVING = [
  event('SPEC_OBSERVED', spec()),
  event('SPEC_OBSERVED', spec({}, { marks: { moveTo: `${A}=c` } })),
  event('SPEC_OBSERVED', spec({ assignmentCoolOffSeconds: 20 }, { marks: { moveTo: `${A}=b` } })),
  event('CLUSTER_OBSERVED', named('a', 'b')),
  event('CLUSTER_OBSERVED', named('a', 'b', 'c')),
  event('PROVIDER_OBSERVED', provided(observed(A, 'a'), observed(B, 'b'))),
  event('READY', ready(A, 'a')),
  event('READY', ready(B, 'b')),
  event('ASSIGNED', assigned(A, refOf('a'), false)),
  event('ASSIGNED', assigned(B, refOf('b'), false)),
  event('ASSIGNED', assigned(A, refOf('c'))),
  event('FAILED', failed(A, 'NodeInUse', refOf('c'), 'a')),
];

/** Outcomes of a creation, and the facts that can come in between, for a pool that lists A and wants one address or two. */
export const CREATING = [
  event('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 1 })),
  event('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 })),
  event('SPEC_OBSERVED', spec({ ips: [A, B], desiredIPs: 2 })),
  event('SPEC_OBSERVED', spec({ ips: [A], provider: 'aws' })),
  event('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2, match: { nodeLabel: 'pool=other' } })),
  event('CLUSTER_OBSERVED', named()),
  event('PROVIDER_OBSERVED', provided(observed(A), observed(C, 'b'))),
  event('CLAIMS_OBSERVED', { fullNodes: [] }),
  event('CLAIMS_OBSERVED', { fullNodes: [CREATE_CLAIM] }),
  event('DELETED'),
  event('CLEARED'),
  event('RESUME'),
  event('GONE', { address: A }),
  event('GONE', { address: B }),
  event('xstate.done.actor.intend', { output: { knownAddresses: [A], listedAt: START } }),
  ...failing('intend', failure('Unavailable')),
  event('xstate.done.actor.create', { output: { address: B } }),
  ...failing('create', failure('Invalid'), cutOff()),
  event('xstate.done.actor.reconcile', { output: { found: 'one', address: B } }),
  event('xstate.done.actor.reconcile', { output: { found: 'none' } }),
  event('xstate.done.actor.reconcile', { output: { found: 'several', addresses: [B, C] } }),
  ...failing('reconcile', failure('Unavailable')),
  event('xstate.done.actor.publish', { output: { ips: [A, B], generation: 2 } }),
  ...failing('publish', failure('Unavailable'), failure('NotFound')),
  event('xstate.after.coolOff.pool.Serving.acquiring.CoolOff', {}, START + SECOND),
  event('xstate.after.coolOff.pool.Stopping.CoolOff', {}, START + SECOND),
  event('xstate.done.actor.announce', { output: {} }),
  ...failing('announce', failure('Unavailable')),
];

/** What decides about a pool: not the counts, not the times, and of the nodes and addresses only what stands in the way of what. */
export const poolTelling: Telling = ({ value, context }) => {
  const {
    spec: known,
    error,
    query,
    candidates,
    absent,
    held,
    leaving,
    asking,
    members,
    provided: list,
    fullNodes,
    backOff,
    acquiring,
    created,
    deleted,
    named: told,
    marks,
  } = context as PoolContext;
  const { intending, intent, inDoubtUntil, unpublished, published, unclear } = acquiring;
  if (deleted) return [value, Object.keys(members), intent !== null, unpublished, unclear.length];
  return [
    value,
    [
      known?.desired,
      known?.ips.length,
      known?.match.nodeLabel,
      known?.graceMs,
      known?.coolOffMs,
      known?.contention,
      error !== null,
      query !== null,
      list !== null,
    ],
    candidates.map(({ name }) => name).sort(),
    leaving.map(({ name }) => name),
    [
      absent.map(({ node: { name }, failing: fails, askAt, asks }) => [name, fails, askAt !== null, asks > 0]),
      asking,
      held,
      known?.safeHold,
    ],
    Object.entries(members).map(([address, { ready: waits, node: held, confirmed, eligible, retiring, heard, contest }]) => [
      address,
      waits,
      held?.name,
      confirmed,
      eligible,
      retiring,
      heard,
      [contest.moves.length, contest.restsSince !== null],
    ]),
    told && [told.target !== null, told.addresses],
    [marks?.paused, marks?.moves?.map(({ text, begun, answer }) => [text, begun, answer?.done])],
    [fullNodes.length > 0, Object.keys(backOff).length > 0],
    [intending, intent !== null, inDoubtUntil !== null, unpublished, published.length, unclear.length, created.length],
  ];
};

/** An address goes only after it was given up. */
export const poolComes = ({ context }: { readonly context: unknown }, { type, address }: MachineEvent): boolean =>
  type !== 'GONE' || (context as PoolContext).members[address as Address]?.retiring === true;
