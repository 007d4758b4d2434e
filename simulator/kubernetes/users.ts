import type { IncomingHttpHeaders } from 'node:http';
import { keyOf, type Store } from './store.ts';

/** Who asks, as the API server tells it to admission and to reviews. */
export type User = { username: string; uid?: string; groups: string[] };

/** Whoever bears no token of a ServiceAccount: there is no authentication here. */
const ADMINISTRATOR: User = { username: 'simulator', groups: ['system:masters', 'system:authenticated'] };

export const serviceAccountToken = (namespace: string, name: string, uid: string): string =>
  `simulated-token-of-${namespace}-${name}-${uid}`;

const serviceAccountUser = (namespace: string, name: string, uid?: string): User => ({
  username: `system:serviceaccount:${namespace}:${name}`,
  ...(uid === undefined ? {} : { uid }),
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
});

/** Whose token this is; any but one that was made for a ServiceAccount, the administrator's. */
const bearerOf = (store: Store, token: string): User => tokenUser(store, token) ?? ADMINISTRATOR;

/** The ServiceAccount for which this token was made; null when it was made for none that is there. */
export const tokenUser = (store: Store, token: string): User | null => {
  if (!token.startsWith('simulated-token-of-')) return null;
  for (const { object } of store.list('serviceaccounts').entries) {
    const { namespace = '', name = '', uid = '' } = object.metadata;
    if (token === serviceAccountToken(namespace, name, uid)) return serviceAccountUser(namespace, name, uid);
  }
  return null;
};

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

const impersonated = (store: Store, username: string, groups: string[]): User => {
  const [, namespace, name] = SERVICE_ACCOUNT.exec(username) ?? [];
  if (namespace === undefined || name === undefined) return { username, groups: [...groups, 'system:authenticated'] };
  return serviceAccountUser(namespace, name, store.get('serviceaccounts', keyOf(namespace, name))?.object.metadata.uid);
};

/** Who sends a request: whom it impersonates, else whose token it bears. */
export const userOf = (store: Store, headers: IncomingHttpHeaders): User => {
  const { 'impersonate-user': wanted, 'impersonate-group': groups = [], authorization = '' } = headers;
  if (typeof wanted === 'string') return impersonated(store, wanted, Array.isArray(groups) ? groups : groups.split(/,\s*/));
  return bearerOf(store, authorization.replace(/^Bearer /, ''));
};
