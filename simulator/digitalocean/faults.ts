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
  /** The token has not the scope: `droplet:read` or `tag:read`. */
  | { readonly kind: 'lacksScope'; readonly scope: Scope };

export type Scope = 'droplet:read' | 'tag:read';

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
  lacksScope: (body) => ({ kind: 'lacksScope', scope: body.scope === 'tag:read' ? 'tag:read' : 'droplet:read' }),
};

const actionPost = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)\/[^/]+\/actions$/;
const creation = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)$/;
const actionRead = /\/actions(\/\d+)?$/;
const addressRead = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)(\/[^/]+)?$/;

const reach: FaultRules['reach'] = {
  pendingEvent: { method: 'POST', path: actionPost },
  actionErrored: { method: 'POST', path: actionPost },
  slowAction: { method: 'POST', path: actionPost },
  quota: { method: 'POST', path: creation },
  actionNotFound: { method: 'GET', path: actionRead },
  staleReads: { method: 'GET', path: addressRead },
  truncatePages: {
    method: 'GET',
    path: /^\/v2\/((reserved_ips|floating_ips|reserved_ipv6|actions|droplets|domains|firewalls)|domains\/[^/]+\/records|\w+\/[^/]+\/actions)$/,
  },
};

export const createFaults = (): Faults => createHttpFaults({ reach, decisive: ['pendingEvent', 'quota'] });
