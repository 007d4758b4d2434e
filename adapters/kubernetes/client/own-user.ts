import { HttpMethod, RequestContext } from '@kubernetes/client-node/dist/gen/http/http.js';
import type { OwnUser } from '../../../actors/ports/admission.ts';
import { isForbidden, isNotFound } from './api-error.ts';
import type { Connection } from './connection.ts';
import type { KeptConfig } from './kube-config.ts';

const GROUP = '/apis/authentication.k8s.io/v1';
const API_VERSION = 'authentication.k8s.io/v1';

interface Reviewed {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly error?: string;
    readonly userInfo?: { readonly username?: string };
    readonly user?: { readonly username?: string };
  };
}

/** Asks the API server for our own user name and caches it: by a SelfSubjectReview, and where that is not served (before 1.28) by a review of our own token.
 *  Without a token, e.g. with a client certificate outside a cluster, only the former works. */
export const ownUser = (config: KeptConfig, connection: Connection): OwnUser => {
  let known: string | null = null;
  return async () => {
    known ??= (await bySelfReview(connection)) ?? (await byTokenReview(connection, await tokenOf(config)));
    return known;
  };
};

const review = async (connection: Connection, plural: string, body: object): Promise<Reviewed> =>
  (await connection.send({ method: 'POST', path: `${GROUP}/${plural}`, body: { apiVersion: API_VERSION, ...body } })) as Reviewed;

/** Null where SelfSubjectReview is not available. */
const bySelfReview = async (connection: Connection): Promise<string | null> => {
  try {
    const { status } = await review(connection, 'selfsubjectreviews', { kind: 'SelfSubjectReview' });
    return status?.userInfo?.username ?? null;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return null;
    throw error;
  }
};

const byTokenReview = async (connection: Connection, token: string): Promise<string> => {
  const { status } = await review(connection, 'tokenreviews', { kind: 'TokenReview', spec: { token } });
  const username = status?.user?.username;
  if (status?.authenticated !== true || !username)
    throw new Error(`the API server does not know the operator’s own token: ${status?.error ?? 'no reason told'}`);
  return username;
};

/** The token that requests carry, so that a rotated token is used. */
const tokenOf = async (config: KeptConfig): Promise<string> => {
  const context = new RequestContext(config.getCurrentCluster()?.server ?? '', HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  const { Authorization = '' } = context.getHeaders();
  const token = /^Bearer (.+)$/.exec(Authorization)?.[1];
  if (token === undefined)
    throw new Error('the operator has no token by which the API server could tell who it is: give it one of a ServiceAccount');
  return token;
};
