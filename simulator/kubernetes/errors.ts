import type { Cause, JsonObject } from './objects.ts';
import { qualifiedKind, qualifiedResource, type Resource } from './resource.ts';

/** A refusal as the API server words it; the HTTP body is its `Status` object. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | undefined;
  /** Set on an expired list page: the token under which the rest can still be had, inconsistently. */
  readonly continueToken: string | undefined;

  constructor(code: number, reason: string, message: string, details?: JsonObject, continueToken?: string) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.continueToken = continueToken;
  }

  status(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

const about = (resource: Resource, name: string): JsonObject => ({
  name,
  ...(resource.group === '' ? {} : { group: resource.group }),
  kind: resource.plural,
});

export const notFound = (resource: Resource, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${qualifiedResource(resource)} "${name}" not found`, about(resource, name));

/** The answer to a path that no served resource has. */
export const noSuchPath = (): ApiError => new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (resource: Resource, name: string): ApiError =>
  new ApiError(409, 'AlreadyExists', `${qualifiedResource(resource)} "${name}" already exists`, about(resource, name));

export const conflict = (resource: Resource, name: string, why: string): ApiError =>
  new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${qualifiedResource(resource)} "${name}": ${why}`, about(resource, name));

export const modified = (resource: Resource, name: string): ApiError =>
  conflict(resource, name, 'the object has been modified; please apply your changes to the latest version and try again');

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export const forbidden = (resource: Resource, name: string, why: string): ApiError =>
  new ApiError(403, 'Forbidden', `${qualifiedResource(resource)} "${name}" is forbidden: ${why}`, about(resource, name));

export const methodNotAllowed = (): ApiError =>
  new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const unsupportedMediaType = (accepted: readonly string[]): ApiError =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export const expired = (message: string, continueToken?: string): ApiError =>
  new ApiError(410, 'Expired', message, undefined, continueToken);

/** What the storage layer answers when the object is another one of the same name. */
export const uidConflict = (resource: Resource, key: string, name: string, wanted: string, found: string): ApiError =>
  conflict(
    resource,
    name,
    `StorageError: invalid object, Code: 4, Key: /registry/${resource.custom ? `${resource.group}/` : ''}${resource.plural}/${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`,
  );

/** A deletion's precondition that does not hold; it is told of the kind, not of the resource. */
export const preconditionFailed = (resource: Resource, name: string, why: string): ApiError =>
  new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${qualifiedKind(resource)} "${name}": ${why}`, {
    ...about(resource, name),
    kind: resource.kind,
  });

/** 422, with one cause for each violated rule, in the order found; what is found twice is told once. `kind` replaces the resource's own. */
export const invalid = (resource: Resource, name: string, causes: readonly Cause[], kind = resource.kind): ApiError => {
  const lines = [...new Set(causes.map((cause) => `${cause.field}: ${cause.message}`))];
  const text = lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
  return new ApiError(422, 'Invalid', `${qualifiedKind({ ...resource, kind })} "${name}" is invalid: ${text}`, {
    ...(name === '' ? {} : { name }),
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind,
    causes: [...causes],
  });
};

/** What a write is answered with while a webhook of somebody does not answer, whose failurePolicy is Fail. */
export const webhookFailed = (): ApiError => {
  const post = 'Post "https://policy.example.svc:443/validate?timeout=10s": dial tcp 10.96.0.99:443: connect: connection refused';
  const message = `failed calling webhook "policy.example.com": failed to call webhook: ${post}`;
  return new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
};
