import { createHash } from 'node:crypto';
import type { Clock } from '../../../actors/ports/records.ts';
import { messageOf } from './api-error.ts';
import type { Connection } from './connection.ts';

/** Why a request is not answered: 401 nobody knows who asks, 403 who asks may not, 503 the API server cannot be asked about it now. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
}

interface TokenAccessOptions {
  readonly connection: Connection;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The right is `get` on this nonResourceURL. */
  readonly path: string;
  /** Told when the API server could not be asked. */
  readonly onTrouble: (message: string) => void;
}

/** How long an answer counts, ms. A token or a right that is taken away is good for as long; a right that was added is waited for a moment. */
const KEPT_MS = { granted: 60_000, 401: 60_000, 403: 5_000, 503: 0 } as const;

/** So many answers of each kind are kept: whoever sends ever new tokens costs no memory, and pushes out nobody who has the right. */
const MOST = 256;
/** So many tokens that had no right so far are asked about at once. */
const MOST_AT_ONCE = 16;

/** By a digest of the token, the newest last; `until` on the monotonic clock, ms. */
type Answers = Map<string, { readonly answer: Refusal | null; readonly until: number }>;

/** Asks the API server who bears the token of a header `Authorization: Bearer …`, and whether they may get the path. Answers null when they may. Never throws.
 *  Needs the rights to create TokenReviews and SubjectAccessReviews. As kube-rbac-proxy does it: nonResourceURLs in a ClusterRole give the right. */
export function tokenAccess(options: TokenAccessOptions): (authorization: string | undefined) => Promise<Refusal | null> {
  const { clock, path } = options;
  const granted: Answers = new Map();
  const refused: Answers = new Map();
  const underWay = new Map<string, Promise<Refusal | null>>();

  const ask = async (key: string, token: string): Promise<Refusal | null> => {
    const answer = await reviewed(options, token);
    underWay.delete(key);
    // Who had the right is asked about first, also while it cannot be asked.
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
    // No token stays in memory longer than its request.
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
