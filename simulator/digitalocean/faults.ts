import { text } from '../http/body.ts';
import {
  createFaults as createHttpFaults,
  type FaultRules,
  type HttpEffect,
  type FaultSpec as HttpFaultSpec,
  type Faults as HttpFaults,
} from '../http/faults.ts';
import { type EffectReaders, httpEffects, number } from '../http/parse-fault.ts';

type OwnEffect =
  | { readonly kind: 'staleReads'; readonly ms: number }
  | { readonly kind: 'pendingEvent' }
  | { readonly kind: 'actionNotFound' }
  | { readonly kind: 'actionErrored' }
  | { readonly kind: 'slowAction'; readonly ms: number }
  | { readonly kind: 'quota' }
  /** Pages are no larger than this, whatever is asked for. */
  | { readonly kind: 'smallPages'; readonly max: number }
  /** A page of more than so many items is answered with a 5xx. */
  | { readonly kind: 'failBigPages'; readonly over: number }
  /** `meta.total` is off by so much. */
  | { readonly kind: 'wrongTotal'; readonly by: number }
  /** The items of a page come in another order, and one of them twice. */
  | { readonly kind: 'shuffledPages' }
  /** Actions say this instead of their status. */
  | { readonly kind: 'actionStatus'; readonly status: string }
  /** A reserved IPv6 address is not moved from one droplet to another. */
  | { readonly kind: 'noDirectMove'; readonly code: number }
  /** The token has not the scope. */
  | { readonly kind: 'lacksScope'; readonly scope: Scope };

export type Scope = (typeof SCOPES)[number];

const SCOPES = [
  ...(['droplet:read', 'tag:read', 'reserved_ip:read', 'actions:read'] as const),
  ...(['domain:read', 'firewall:read', 'byoip_prefix:read', 'account:read'] as const),
] as const;

export type FaultEffect = HttpEffect | OwnEffect;
export type FaultSpec = HttpFaultSpec<FaultEffect>;
export type Faults = HttpFaults<FaultEffect>;

export const effectReaders: EffectReaders<FaultEffect> = {
  ...httpEffects,
  staleReads: (body) => ({ kind: 'staleReads', ms: number(body, 'ms') }),
  pendingEvent: () => ({ kind: 'pendingEvent' }),
  actionNotFound: () => ({ kind: 'actionNotFound' }),
  actionErrored: () => ({ kind: 'actionErrored' }),
  slowAction: (body) => ({ kind: 'slowAction', ms: number(body, 'ms') }),
  quota: () => ({ kind: 'quota' }),
  smallPages: (body) => ({ kind: 'smallPages', max: number(body, 'max') }),
  failBigPages: (body) => ({ kind: 'failBigPages', over: number(body, 'over') }),
  wrongTotal: (body) => ({ kind: 'wrongTotal', by: number(body, 'by') }),
  shuffledPages: () => ({ kind: 'shuffledPages' }),
  actionStatus: (body) => ({ kind: 'actionStatus', status: text(body, 'status') ?? 'unheard-of' }),
  noDirectMove: (body) => ({ kind: 'noDirectMove', code: number(body, 'code') }),
  lacksScope: (body) => ({ kind: 'lacksScope', scope: SCOPES.find((scope) => scope === body.scope) ?? 'droplet:read' }),
};

const actionPost = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)\/[^/]+\/actions$/;
const creation = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)$/;
const actionRead = /\/actions(\/\d+)?$/;
const list =
  /^\/v2\/((reserved_ips|floating_ips|reserved_ipv6|actions|droplets|domains|firewalls|byoip_prefixes)|domains\/[^/]+\/records|\w+\/[^/]+\/actions)$/;
const addressRead = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)(\/[^/]+)?$/;

const reach: FaultRules['reach'] = {
  pendingEvent: { method: 'POST', path: actionPost },
  actionErrored: { method: 'POST', path: actionPost },
  slowAction: { method: 'POST', path: actionPost },
  quota: { method: 'POST', path: creation },
  actionNotFound: { method: 'GET', path: actionRead },
  staleReads: { method: 'GET', path: addressRead },
  truncatePages: { method: 'GET', path: list },
  smallPages: { method: 'GET', path: list },
  failBigPages: { method: 'GET', path: list },
  wrongTotal: { method: 'GET', path: list },
  shuffledPages: { method: 'GET', path: list },
  noDirectMove: { method: 'POST', path: /^\/v2\/reserved_ipv6\/[^/]+\/actions$/ },
};

export const createFaults = (): Faults => createHttpFaults({ reach, decisive: ['pendingEvent', 'quota'] });
