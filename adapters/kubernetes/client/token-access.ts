import { createHash } from 'node:crypto';
import type { Clock } from '../../../actors/ports/records.ts';
import { messageOf } from './api-error.ts';
import type { Connection } from './connection.ts';

/** Why a request is refused: 401 unknown caller, 403 caller not authorized, 503 the API server cannot be asked now. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
}

interface TokenAccessOptions {
  readonly connection: Connection;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The required right is `get` on this nonResourceURL. */
  readonly path: string;
  /** Called when the API server could not be asked. */
  readonly onTrouble: (message: string) => void;
}

/** How long a result is cached, ms. A revoked token or right stays valid for that long; a newly granted right takes effect after a moment. */
const KEPT_MS = { granted: 60_000, 401: 60_000, 403: 5_000, 503: 0 } as const;

/** Maximum number of cached results of each kind: a client that sends ever new tokens costs no memory, and evicts no authorized caller. */
const MOST = 256;
/** Maximum number of concurrent reviews of tokens not known to be authorized. */
const MOST_AT_ONCE = 16;

/** By token digest, the newest last; `until` is on the monotonic clock, ms. */
type Answers = Map<string, { readonly answer: Refusal | null; readonly until: number }>;

/** Asks the API server whose token is in a header `Authorization: Bearer …`, and whether that user may get the path. Returns null if so. Never throws.
 *  Needs the rights to create TokenReviews and SubjectAccessReviews. As with kube-rbac-proxy, nonResourceURLs in a ClusterRole grant the right. */
export function tokenAccess(options: TokenAccessOptions): (authorization: string | undefined) => Promise<Refusal | null> {
  const { clock, path } = options;
  const granted: Answers = new Map();
  const refused: Answers = new Map();
  const underWay = new Map<string, Promise<Refusal | null>>();

  const ask = async (key: string, token: string): Promise<Refusal | null> => {
    const answer = await reviewed(options, token);
    underWay.delete(key);
    // A caller that was authorized keeps its priority for reviews while the API server cannot be asked.
    if (answer !== null && answer.status !== 503) granted.delete(key);
    const answers = answer === null ? granted : refused;
    answers.delete(key);
    answers.set(key, { answer, until: clock.monotonic() + KEPT_MS[answer?.status ?? 'granted'] });
    const [oldest] = answers.keys();
    if (answers.size > MOST && oldest !== undefined) answers.delete(oldest);
    return answer;
  };
  return async (authorization) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return { status: 401, message: `${path} asks for a token of the cluster, as "Authorization: Bearer …".` };
    // A token is not kept in memory beyond its request.
    const key = createHash('sha256').update(token).digest('hex');
    const known = [granted.get(key), refused.get(key)].find((kept) => kept && kept.until > clock.monotonic());
    if (known) return known.answer;
    const asked = underWay.get(key);
    if (asked) return asked;
    if (underWay.size >= MOST_AT_ONCE && !granted.has(key))
      return { status: 503, message: 'Who asks cannot be told now: too many ask at once.' };
    const asking = ask(key, token);
    underWay.set(key, asking);
    return asking;
  };
}

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface Review {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly allowed?: boolean;
    readonly user?: User;
  };
}

async function reviewed({ connection, path, onTrouble }: TokenAccessOptions, token: string): Promise<Refusal | null> {
  const review = async (group: string, plural: string, kind: string, spec: object) =>
    (await connection.send({
      method: 'POST',
      path: `/apis/${group}/v1/${plural}`,
      body: { apiVersion: `${group}/v1`, kind, spec },
    })) as Review;
  try {
    const { status: who } = await review('authentication.k8s.io', 'tokenreviews', 'TokenReview', { token });
    const { username, uid, groups, extra } = who?.user ?? {};
    if (who?.authenticated !== true || !username) return { status: 401, message: 'The API server does not know this token, or no longer.' };
    const spec = { user: username, uid, groups, extra, nonResourceAttributes: { path, verb: 'get' } };
    const { status: may } = await review('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview', spec);
    if (may?.allowed === true) return null;
    return {
      status: 403,
      message: `${username} may not get ${path}: bind a ClusterRole with nonResourceURLs: [${path}] and verbs: [get].`,
    };
  } catch (error) {
    onTrouble(messageOf(error));
    return { status: 503, message: `Who asks cannot be told now: ${messageOf(error)}` };
  }
}
