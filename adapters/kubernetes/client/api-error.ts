import { readable, Unreachable } from '../../../actors/ports/errors.ts';

/** What can be done about a refusal of the API server. */
export type ApiErrorKind = 'NotFound' | 'Conflict' | 'Gone' | 'Forbidden' | 'Unauthorized' | 'Invalid';

/** The API server answered and refused. Repeating the same request helps only for `Conflict` and `Gone` (after reading again), and for
 *  `Forbidden` and `Unauthorized` once somebody has mended the permissions. */
export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  readonly status: number;

  constructor(kind: ApiErrorKind, status: number, message: string) {
    super(readable(message));
    this.name = 'ApiError';
    this.kind = kind;
    this.status = status;
  }
}

/** The API server could not be reached, was too busy, or did not answer in time. */
export class ServerUnreachable extends Unreachable {
  /** How long the server asked to wait, ms; null when it said nothing. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    {
      retryAfterMs = null,
      ...options
    }: { readonly cause?: unknown; readonly retryAfterMs?: number | null; readonly isAnswered?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'ServerUnreachable';
    this.retryAfterMs = retryAfterMs;
  }
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.kind === 'NotFound';
export const isConflict = (error: unknown): boolean => error instanceof ApiError && error.kind === 'Conflict';
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.kind === 'Gone';
export const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.kind === 'Forbidden';
/** What was to be written is refused for what it is: the same again helps only once somebody has changed the object, or its definition. */
export const isInvalid = (error: unknown): boolean => error instanceof ApiError && error.kind === 'Invalid';
/** RBAC refuses it. What an admission denies is no missing right, and says so in other words. */
export const isRightMissing = (error: unknown): boolean => isForbidden(error) && messageOf(error).startsWith(NO_RIGHT);

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a request was about, as people and RBAC name it. */
export interface Target {
  readonly verb: string;
  readonly path: string;
}

const NO_RIGHT = 'the ServiceAccount may not';

/** Of an authorizer: `nodes "a" is forbidden: User "system:…" cannot patch resource "nodes" in …`. */
const BY_AUTHORIZER = /\bUser "[^"]*" cannot\b/;

const KINDS: Readonly<Record<number, ApiErrorKind>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
};

const PATH =
  /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<sub>[^/]+)(?:\/.*)?)?)?$/;

/** `patch nodes`, `list pods in namespace web`: the words of an RBAC rule. */
export const deedOf = ({ verb, path }: Target): string => {
  const { namespace, plural, sub } = PATH.exec(path)?.groups ?? {};
  const resource = sub === undefined ? (plural ?? path) : `${plural}/${sub}`;
  return `${verb} ${resource}${namespace === undefined ? '' : ` in namespace ${decodeURIComponent(namespace)}`}`;
};

/** Of the object that is asked for; null for a path of none, such as that of a list, or of what is behind a proxy. */
export const nameIn = (path: string): string | null => {
  const { name, sub } = PATH.exec(path)?.groups ?? {};
  return name === undefined || sub === 'proxy' ? null : decodeURIComponent(name);
};

/** Of the kind that a path is about; empty for a path of none. */
export const pluralIn = (path: string): string => PATH.exec(path)?.groups?.plural ?? '';

/** Of an object, `status` for one; null for a path of the object itself, or of none. */
export const subresourceIn = (path: string): string | null => PATH.exec(path)?.groups?.sub ?? null;

/** The error for an answer that grants nothing. 5xx, 408 and 429 mean that the server cannot now: they count as unreachable, as does what no API server answers. */
export const refusal = (target: Target, status: number, serverMessage: string, retryAfterMs: number | null = null): Error => {
  const text = `${deedOf(target)}: ${status}${serverMessage === '' ? '' : ` ${serverMessage}`}`;
  if (status < 400 || status >= 500 || status === 429 || status === 408)
    return new ServerUnreachable(text, { retryAfterMs, isAnswered: status >= 500 });
  const kind = KINDS[status] ?? 'Invalid';
  // What an admission denies, a quota or the end of a namespace is no missing permission.
  if (kind === 'Forbidden' && BY_AUTHORIZER.test(serverMessage))
    return new ApiError(kind, status, `${NO_RIGHT} ${deedOf(target)}: ${serverMessage}`);
  return new ApiError(kind, status, text);
};
