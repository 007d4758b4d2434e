import { readable, Unreachable } from '../../../actors/ports/errors.ts';

/** What can be done about a refusal of the API server. */
export type ApiErrorKind = 'NotFound' | 'Conflict' | 'Gone' | 'Forbidden' | 'Unauthorized' | 'Invalid';

/** The API server responded with a refusal. Repeating the same request helps only for `Conflict` and `Gone` (after reading again), and for
 *  `Forbidden` and `Unauthorized` once the permissions are fixed. */
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

/** The API server could not be reached, was too busy, or did not respond in time. */
export class ServerUnreachable extends Unreachable {
  /** How long the server asked to wait, ms; null when it did not. */
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
/** The content of the write was rejected: retrying helps only once the object or its CRD has changed. */
export const isInvalid = (error: unknown): boolean => error instanceof ApiError && error.kind === 'Invalid';
/** Refused by RBAC. A denial by an admission plugin is not a missing permission, and has a different message. */
export const isRightMissing = (error: unknown): boolean => isForbidden(error) && messageOf(error).startsWith(NO_RIGHT);

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The target of a request, with an RBAC verb. */
export interface Target {
  readonly verb: string;
  readonly path: string;
}

const NO_RIGHT = 'the ServiceAccount may not';

/** The message of an authorizer: `nodes "a" is forbidden: User "system:…" cannot patch resource "nodes" in …`. */
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

/** The name of the requested object; null for any other path, such as that of a list or of a proxy subresource. */
export const nameIn = (path: string): string | null => {
  const { name, sub } = PATH.exec(path)?.groups ?? {};
  return name === undefined || sub === 'proxy' ? null : decodeURIComponent(name);
};

/** The plural of the kind in a path; empty for a path without one. */
export const pluralIn = (path: string): string => PATH.exec(path)?.groups?.plural ?? '';

/** The subresource in a path, e.g. `status`; null for a path of the object itself, or of none. */
export const subresourceIn = (path: string): string | null => PATH.exec(path)?.groups?.sub ?? null;

/** The error for an unsuccessful response. 5xx, 408 and 429 are temporary and count as unreachable, as do codes that no API server returns. */
export const refusal = (target: Target, status: number, serverMessage: string, retryAfterMs: number | null = null): Error => {
  const text = `${deedOf(target)}: ${status}${serverMessage === '' ? '' : ` ${serverMessage}`}`;
  if (status < 400 || status >= 500 || status === 429 || status === 408)
    return new ServerUnreachable(text, { retryAfterMs, isAnswered: status >= 500 });
  const kind = KINDS[status] ?? 'Invalid';
  // A denial by admission, a quota or a terminating namespace is not a missing permission.
  if (kind === 'Forbidden' && BY_AUTHORIZER.test(serverMessage))
    return new ApiError(kind, status, `${NO_RIGHT} ${deedOf(target)}: ${serverMessage}`);
  return new ApiError(kind, status, text);
};
