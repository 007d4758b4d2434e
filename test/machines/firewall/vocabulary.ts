import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { FirewallContext, FirewallMachineInput } from '../../../machines/firewall/context.ts';
import type { FirewallChange, FirewallFound } from '../../../machines/jobs.ts';
import type { ProviderID } from '../../../machines/model/types.ts';
import { failure, PROVIDER, providerIDOf, refOf, SECOND, START } from '../builders.ts';
import type { Telling } from '../explore.ts';
import { event } from '../pool/world.ts';

export const WEB = 'rip/default/web/ip/203.0.113.1';
export const API = 'rip/default/api/ip/203.0.113.2';
const SSH = 'tcp/22';

/** Rebuilt: something was added to it before, which web may need. */
export const FIREWALL_INPUT: FirewallMachineInput = {
  id: `firewall/${PROVIDER}/edge`,
  provider: PROVIDER,
  firewall: 'edge',
  owned: { ports: ['tcp/8443'], nodes: [providerIDOf('z')] },
  claims: { [WEB]: { nodes: [refOf('z')], ports: ['tcp/8443'], exclusive: false, isOpen: false } },
};
/** Nothing was added to it before. */
export const NEW_FIREWALL: FirewallMachineInput = { id: `firewall/${PROVIDER}/edge`, provider: PROVIDER, firewall: 'edge' };

const claim = (claimant: string, claimId: string, mode: 'open' | 'prune', node: string | null, ...ports: readonly string[]): MachineEvent =>
  event('CLAIM', { claimant, claimId, mode, node: node === null ? null : refOf(node), ports: node === null ? [] : ports });

export const webOpens = claim(WEB, 'w1', 'open', 'a', 'tcp/80');
export const webPrunes = claim(WEB, 'w3', 'prune', 'b', 'tcp/80');
export const webLeaves = claim(WEB, 'w4', 'prune', null);
export const apiOpens = claim(API, 'a1', 'open', 'a', 'tcp/80', 'tcp/443');
export const apiLeaves = claim(API, 'a3', 'prune', null);

const looked = (ports: readonly string[], nodes: readonly ProviderID[]): MachineEvent =>
  event('xstate.done.actor.look', { output: { ports, nodes, pending: false } satisfies FirewallFound });

/** Nothing of ours is there. */
export const bare = looked([SSH], []);
/** Everything that anybody may claim is there. */
export const full = looked([SSH, 'tcp/443', 'tcp/80'], [providerIDOf('a'), providerIDOf('b')]);
/** The same, and it takes one rule more. */
export const crowded = event('xstate.done.actor.look', {
  output: { ports: [SSH], nodes: [], pending: false, freeRules: 1 } satisfies FirewallFound,
});
const late = {
  ports: [SSH, 'tcp/443', 'tcp/80'],
  nodes: [providerIDOf('a'), providerIDOf('b')],
  pending: true,
  pendingOn: [providerIDOf('a')],
};
/** Everything is there, and on one machine not applied. */
export const unapplied = event('xstate.done.actor.look', { output: late satisfies FirewallFound });
/** The same, after more than half a minute. */
export const neverApplied = event(
  'xstate.done.actor.look',
  { output: { ...late, failed: true } satisfies FirewallFound },
  START + 31 * SECOND,
);
/** Everything was added, and on one machine it is not applied. */
export const openedLate = event('xstate.done.actor.open', {
  output: { owned: { ports: [], nodes: [] }, deferred: null, pendingOn: [providerIDOf('a')] } satisfies FirewallChange,
});
export const opened = event('xstate.done.actor.open', { output: { owned: { ports: [], nodes: [] }, deferred: null } });
/** One of two ports of api was not taken. */
export const openedInPart = event('xstate.done.actor.open', {
  output: {
    owned: { ports: [], nodes: [] },
    deferred: null,
    refused: { ports: ['tcp/443'], nodes: [], why: 'the firewall is full' },
  } satisfies FirewallChange,
});
export const pruned = event('xstate.done.actor.prune', { output: { owned: { ports: [], nodes: [] }, deferred: null } });
/** It takes many rules again. */
export const prunedToRoom = event('xstate.done.actor.prune', {
  output: { owned: { ports: [], nodes: [] }, deferred: null, freeRules: 20 } satisfies FirewallChange,
});
/** The last rule had to stay. */
export const prunedButOne = event('xstate.done.actor.prune', {
  output: { owned: { ports: ['tcp/80'], nodes: [] }, deferred: 'the last rule stays' },
});
export const failed = (job: 'look' | 'open' | 'prune'): MachineEvent =>
  event(`xstate.error.actor.${job}`, { error: failure('Unavailable') });
/** It was sent, and no answer was heard. */
export const unheard = (job: 'open' | 'prune'): MachineEvent =>
  event(`xstate.error.actor.${job}`, { error: failure('Unavailable', { unknownOutcome: true }) });
/** It was run once more, since whoever ran it first was not heard of again. */
export const prunedAgain = event('xstate.done.actor.prune', { output: { owned: { ports: [], nodes: [] }, deferred: null, rerun: true } });
/** A list shows nothing of ours. */
export const taken = event('FIREWALL_OBSERVED', { found: { ports: [SSH], nodes: [], pending: false } satisfies FirewallFound });
export const resumed = event('RESUME');
/** The provider's credentials have changed. */
export const credentialsChanged = event('SECRET_OBSERVED');
/** Nobody uses its account any more. */
export const deleted = event('DELETED');
export const looksAgain = event('xstate.after.applied.firewall.Applying');
export const rested = event('xstate.after.rest.firewall.Resting', {}, START + SECOND);
export const doubted = event('xstate.after.doubt.firewall.Doubting', {}, START + 15 * SECOND);

const USUAL: readonly MachineEvent[] = [
  webOpens,
  webPrunes,
  webLeaves,
  apiOpens,
  apiLeaves,
  bare,
  full,
  opened,
  openedInPart,
  pruned,
  prunedButOne,
  ...(['look', 'open', 'prune'] as const).map(failed),
  rested,
  deleted,
];
const without = (...events: readonly MachineEvent[]): readonly MachineEvent[] => USUAL.filter((each) => !events.includes(each));

/** By what comes: all at once would be too many states to try every one of them. */
export const FIREWALL_EVENTS = {
  usual: USUAL,
  unheard: [...without(openedInPart, prunedButOne), ...(['open', 'prune'] as const).map(unheard), resumed, doubted, credentialsChanged],
  taken: [...without(openedInPart, prunedButOne), taken],
  crowded: [...without(openedInPart, prunedButOne), crowded, prunedToRoom],
  late: [...without(openedInPart, prunedButOne, full), unapplied, neverApplied, openedLate, looksAgain],
  /** The same as usual, and restarts, in a firewall that Jobs drive. */
  byJobs: [...USUAL, resumed, doubted, taken].map((heard) => (heard.type === 'CLAIM' ? { ...heard, byJobs: true } : heard)),
} as const;

/** Not the times and the counts, and of what is ours only whether there is anything that nobody claims. */
export const firewallTelling: Telling = ({ value, context }) => {
  const {
    claims,
    waiting,
    owned,
    found,
    working,
    byJobs,
    hasShrunk,
    refused = [],
    hanging = [],
    lost,
    doubt,
    failure: why,
  } = context as FirewallContext;
  const held = Object.entries(claims).map(([id, { nodes, ports, beyond = [], isOpen }]) => [
    id,
    nodes.length,
    ports.length,
    beyond.length,
    isOpen,
  ]);
  const asked = Object.values(waiting).map(({ claimId, isOpen }) => [claimId, isOpen]);
  const kept = [owned.ports.length, owned.nodes.length];
  const marks = [byJobs, hasShrunk, refused.join(), hanging.length, why !== null, Boolean(lost), doubt?.of];
  return [value, held.sort(), asked.sort(), kept, found?.ports.length, working.length, ...marks];
};
