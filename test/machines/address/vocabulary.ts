import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { AddressContext, AddressInput } from '../../../machines/address/context.ts';
import type { FirewallPolicy } from '../../../machines/model/firewall-policy.ts';
import type { JobFailure } from '../../../machines/model/types.ts';
import { A, cutOff, failure, observed, POOL, PROVIDER, providerIDOf, refOf, START } from '../builders.ts';
import { CALL_DEADLINE } from '../drive.ts';
import type { Telling } from '../explore.ts';

export const NONE: FirewallPolicy = { firewall: null, postAllow: false, ports: [] };
/** Opens before the address is assigned. */
export const FIRST: FirewallPolicy = { firewall: 'firewall/digitalocean/web', postAllow: false, ports: ['tcp/443', 'tcp/80'] };
/** Opens once the assignment is confirmed. */
export const AFTER: FirewallPolicy = { ...FIRST, postAllow: true };

/** A firewall, and a mark on the node that gets the address. */
export const MARKED: FirewallPolicy = { ...FIRST, taint: 'PreferNoSchedule' };

/** Jobs drive the address. */
export const BY_JOBS: FirewallPolicy = {
  ...NONE,
  subject: {
    namespace: 'web',
    name: 'shop',
    uid: 'uid-shop',
    serviceNamespace: 'web',
    serviceName: 'shop',
    firewall: '',
    region: '',
    reclaimPolicy: 'Retain',
  },
};

export const addressInput = (change: Partial<AddressInput> = {}): AddressInput => ({
  id: `${POOL}/ip/${A}`,
  pool: POOL,
  provider: PROVIDER,
  address: A,
  origin: 'Created',
  observed: null,
  ...change,
});

const at = START;
const event = (type: string, fields: Readonly<Record<string, unknown>> = {}): MachineEvent => ({ ...fields, type, at });
const failing = (job: string, ...failures: readonly JobFailure[]) => failures.map((error) => event(`xstate.error.actor.${job}`, { error }));

/** Everything that can come to an address of two nodes, a and b; what belongs to firewalls aside. */
export const EVENTS: readonly MachineEvent[] = [
  event('NODE_GRANTED', { node: refOf('a'), spaced: false }),
  event('NODE_GRANTED', { node: refOf('b'), spaced: false }),
  event('NODE_OBSERVED', { name: 'a', eligible: false }),
  event('NODE_OBSERVED', { name: 'a', eligible: true }),
  event('NODE_OBSERVED', { name: 'b', eligible: false }),
  event('ADDRESS_OBSERVED', { observed: null }),
  event('ADDRESS_OBSERVED', { observed: observed(A) }),
  event('ADDRESS_OBSERVED', { observed: observed(A, 'a') }),
  event('ADDRESS_OBSERVED', { observed: observed(A, 'b', { locked: true }) }),
  event('SECRET_OBSERVED'),
  event('RETIRE', { policy: 'Retain' }),
  event('RETIRE', { policy: 'Delete' }),
  event('RETIRE', { policy: 'Retain', force: true }),
  event('RESUME'),
  event('xstate.done.actor.find', { output: observed(A) }),
  event('xstate.done.actor.find', { output: observed(A, 'a') }),
  ...failing('find', failure('Unavailable'), failure('NotFound'), failure('Unauthorized')),
  event('xstate.done.actor.assign', { output: {} }),
  ...failing(
    'assign',
    failure('NodeInUse'),
    failure('Conflict'),
    failure('NotFound'),
    failure('Unauthorized'),
    failure('Unavailable'),
    cutOff(),
  ),
  event('xstate.done.actor.elect', { output: { marked: true } }),
  ...failing('elect', failure('Unavailable')),
  event('xstate.done.actor.release', { output: {} }),
  ...failing('release', failure('Unavailable'), failure('Unauthorized'), failure('NotFound')),
  event('xstate.after.coolOff.ip.CoolOff'),
  event('xstate.after.doubt.ip.Unassigned.Doubting'),
  { ...event('xstate.error.actor.find', { error: failure('Unavailable') }), at: at + CALL_DEADLINE },
];

/** What comes to an address that was never its owner's. */
export const ADOPTING: readonly MachineEvent[] = [
  event('xstate.done.actor.find', { output: observed(A, 'stranger', { place: 'Outside' }) }),
  event('xstate.done.actor.find', { output: observed(A, null, { place: 'Unsaid' }) }),
  event('xstate.done.actor.find', { output: observed(A) }),
  event('ADDRESS_OBSERVED', { observed: observed(A, 'stranger') }),
  event('NODE_GRANTED', { node: refOf('a'), spaced: false, looks: true }),
  event('RETIRE', { policy: 'Retain' }),
  event('RESUME'),
  event('xstate.after.nextLook.ip.Unassigned.LookingAgain'),
];

/** What comes to one that somebody wants on no node. */
export const PARKING: readonly MachineEvent[] = [
  event('PARK', { parked: true }),
  event('PARK', { parked: false }),
  event('NODE_GRANTED', { node: refOf('a'), spaced: false }),
  event('NODE_OBSERVED', { name: 'a', eligible: false }),
  event('ADDRESS_OBSERVED', { observed: observed(A, 'b') }),
  event('RETIRE', { policy: 'Retain' }),
  event('RESUME'),
  event('xstate.done.actor.find', { output: observed(A) }),
  event('xstate.done.actor.find', { output: observed(A, 'a') }),
  event('xstate.done.actor.assign', { output: {} }),
  ...failing('assign', failure('Unavailable'), cutOff()),
  event('xstate.done.actor.unassign', { output: { providerID: null } }),
  event('xstate.done.actor.unassign', { output: { providerID: providerIDOf('b') } }),
  ...failing('unassign', failure('Unavailable'), failure('NotFound'), cutOff()),
  event('OPENED', { claimId: 'claim' }),
  event('PRUNED', { claimId: 'claim' }),
  event('REFUSED', { claimId: 'claim', kind: 'Conflict', reason: 'the firewall is full' }),
  event('xstate.after.coolOff.ip.CoolOff'),
  event('xstate.after.doubt.ip.Unassigned.Doubting'),
];

/** A grant of a pool that spaces its assignments. */
export const SPACED = event('NODE_GRANTED', { node: refOf('b'), spaced: true });

export const policyIs = (policy: FirewallPolicy): MachineEvent => event('POLICY_OBSERVED', { policy });

/** What a firewall may answer. */
export const ANSWERS: readonly MachineEvent[] = [
  event('OPENED', { claimId: 'claim' }),
  event('PRUNED', { claimId: 'claim' }),
  event('REFUSED', { claimId: 'claim', kind: 'Conflict', reason: 'the firewall is full' }),
  event('REFUSED', { claimId: 'claim', kind: 'Unauthorized', reason: 'the token is not valid' }),
];

/** Only these states wait for a firewall. */
export const answersCome = ({ value }: { readonly value: unknown }, { type }: MachineEvent): boolean =>
  !ANSWERS.some((answer) => answer.type === type) || value === 'FirewallOpening' || value === 'Pruning';

const cause = (found: JobFailure | null) => (found?.kind === 'NotFound' || found?.kind === 'Unauthorized' ? found.kind : null);

/** What decides about an address. Once it retires, only how far that has come. */
export const telling: Telling = ({ value, context }) => {
  const {
    elected,
    eligible,
    spaced,
    assigned,
    holder,
    known,
    inDoubtUntil,
    policy,
    failure: found,
    resume,
    retiring,
    claimed,
    parked = null,
  } = context as AddressContext;
  const waits = value === 'CoolOff' ? [resume, cause(found)] : [];
  const common = [value, retiring, policy.firewall && policy.postAllow, policy.taint ?? null, claimed.length, waits];
  if (retiring) return common;
  return [...common, elected?.name, eligible, spaced, assigned?.name, holder, known, inDoubtUntil !== null, parked];
};
