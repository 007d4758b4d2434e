import type { Claim, Decision, Effect } from './events.ts';
import type { FirewallChange, FirewallInput, FirewallOwned } from './jobs.ts';
import { parsePort } from './port.ts';
import type { ActorId, Address, JobFailure, NodeRef, PortClaim } from './types.ts';

/** What a provider's firewall remembers: who claims what of it, and what of it is ours. */
export interface FirewallContext {
  readonly id: ActorId;
  readonly provider: string;
  readonly firewall: string;
  /** By claimant: its whole claim. A claimant that is not here claims nothing. */
  readonly claims: Readonly<Record<ActorId, Held>>;
  /** Claimants that wait for an answer, by claimant; a newer claim takes the place of an older one. */
  readonly waiting: Readonly<Record<ActorId, Ask>>;
  /** What we added, and may therefore remove again. */
  readonly owned: FirewallOwned;
  /** What the job under way covers: claimants whose claims changed since have to wait for the next one. */
  readonly working: readonly Ask[];
  /** Claimants that have to be heard before anything is removed: after a load they claim again. */
  readonly unheard: readonly ActorId[];
  readonly failure: JobFailure | null;
  readonly attempts: number;
}

export interface Held {
  /** The nodes on which the ports are needed. Grows while the address moves, shrinks when it prunes. */
  readonly nodes: readonly NodeRef[];
  readonly ports: readonly string[];
  readonly exclusive: boolean;
}

export interface Ask {
  readonly claimant: ActorId;
  readonly claimId: string;
  readonly mode: 'open' | 'prune';
  /** The claimant's address and the node on which it was confirmed; null when it stands nowhere. */
  readonly holder: { readonly address: Address; readonly node: NodeRef } | null;
  /** Everything it claims is open; only the pruning is left. */
  readonly isOpen: boolean;
}

export interface FirewallMachineInput {
  readonly id: ActorId;
  readonly provider: string;
  readonly firewall: string;
  readonly owned?: FirewallOwned;
  readonly unheard?: readonly ActorId[];
}

export type AnyFirewallEvent =
  | Claim
  | { readonly type: 'RESUME'; readonly at: number }
  | { readonly type: `xstate.done.actor.${'open' | 'prune'}`; readonly output: FirewallChange; readonly at: number }
  | { readonly type: `xstate.error.actor.${'open' | 'prune'}`; readonly error: JobFailure; readonly at: number };

const NOTHING: FirewallOwned = { ports: [], nodes: [] };

export const firewallContext = ({ id, provider, firewall, owned = NOTHING, unheard = [] }: FirewallMachineInput): FirewallContext => ({
  id,
  provider,
  firewall,
  claims: {},
  waiting: {},
  owned,
  working: [],
  unheard,
  failure: null,
  attempts: 0,
});

type Next = Decision<FirewallContext>;
const next = (context: FirewallContext, effects: readonly Effect[] = []): Next => ({ context, effects });

// ---------------------------------------------------------------- claims about the firewall

export const mustOpen = ({ waiting }: FirewallContext): boolean => Object.values(waiting).some(({ isOpen }) => !isOpen);

/** Only once every claimant was heard: one that was not may need what nobody seems to claim. */
export const mayPrune = ({ waiting, unheard }: FirewallContext): boolean =>
  unheard.length === 0 && Object.values(waiting).some(readyToPrune);

const readyToPrune = ({ mode, isOpen }: Ask): boolean => mode === 'prune' && isOpen;

// ---------------------------------------------------------------- decisions

/** Takes a claim over, whole. Opening adds the node to those of the claimant; pruning leaves it only the one. */
export function noteClaim(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (event.type !== 'CLAIM') return next(context);
  const { claimant, claimId, node, ports, mode, holds, exclusive = false } = event;
  const before = context.claims[claimant];
  const kept = mode === 'open' ? (before?.nodes ?? []).filter(({ name }) => name !== node?.name) : [];
  const nodes = node ? [...kept, node] : kept;
  const openPorts = mode === 'open' ? [...new Set([...(before?.ports ?? []), ...ports])].sort() : ports;
  const { [claimant]: _, ...others } = context.claims;
  const claims = nodes.length > 0 && openPorts.length > 0 ? { ...others, [claimant]: { nodes, ports: openPorts, exclusive } } : others;
  const holder = holds && node ? { address: holds, node } : null;
  return next({
    ...context,
    claims,
    waiting: { ...context.waiting, [claimant]: { claimant, claimId, mode, holder, isOpen: false } },
    unheard: context.unheard.filter((id) => id !== claimant),
  });
}

/** The union of all claims, as the job is told it. */
export function firewallInput({ provider, firewall, claims, owned, working }: FirewallContext): FirewallInput {
  const held = Object.values(claims);
  const union = held.flatMap(({ nodes, ports }) =>
    ports.flatMap((port) => nodes.map((node) => [`${port} ${node.name}`, portClaim(port, node)] as const)),
  );
  const holders = working.flatMap(({ mode, holder }) =>
    mode === 'prune' && holder ? [{ address: holder.address, providerID: holder.node.providerID }] : [],
  );
  return {
    provider,
    firewall,
    owned,
    claimants: working.map(({ claimant }) => claimant),
    holders,
    exclusive: held.some(({ exclusive }) => exclusive),
    claims: [...new Map(union)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, claim]) => claim),
  };
}

const portClaim = (text: string, node: NodeRef): PortClaim => ({ ...parsePort(text), node });

/** A job starts: it covers everything claimed up to here. */
export const begin = (context: FirewallContext): Next => next({ ...context, working: Object.values(context.waiting) });

/** Everything that the job covered is open: those that asked for no more are answered, the others wait for the pruning. */
export function opened(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (!('output' in event)) return next(context);
  const covered = current(context);
  const open = Object.fromEntries(covered.filter(({ mode }) => mode === 'prune').map((ask) => [ask.claimant, { ...ask, isOpen: true }]));
  const answered = covered.filter(({ mode }) => mode === 'open');
  return answer({ ...context, owned: event.output.owned, waiting: { ...context.waiting, ...open } }, answered, 'OPENED');
}

/** Everything unclaimed is closed as well. */
export function pruned(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (!('output' in event)) return next(context);
  return answer({ ...context, owned: event.output.owned }, current(context).filter(readyToPrune), 'PRUNED');
}

/** What the job covered and nobody has claimed anew since. */
const current = (context: FirewallContext): readonly Ask[] =>
  context.working.filter(({ claimant, claimId }) => context.waiting[claimant]?.claimId === claimId);

const answer = (context: FirewallContext, asks: readonly Ask[], type: 'OPENED' | 'PRUNED'): Next => {
  const names = new Set(asks.map(({ claimant }) => claimant));
  const waiting = Object.fromEntries(Object.entries(context.waiting).filter(([claimant]) => !names.has(claimant)));
  return next(
    { ...context, waiting, failure: null, attempts: 0 },
    asks.map(({ claimant, claimId }) => ({ type: 'tell', params: { to: claimant, event: told({ type, claimId }) } })),
  );
};

/** Refuses everyone that waits: each address waits out its own back-off and claims again. */
export function refuse(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (!('error' in event)) return next(context);
  const { kind, message } = event.error;
  const effects = Object.values(context.waiting).map(
    ({ claimant, claimId }): Effect => ({
      type: 'tell',
      params: { to: claimant, event: told({ type: 'REFUSED', claimId, kind, reason: message }) },
    }),
  );
  return next({ ...context, waiting: {}, failure: event.error, attempts: context.attempts + 1 }, effects);
}

const told = <T extends { readonly type: string }>(event: T): T => event;
