import type { ServerResponse } from 'node:http';
import type { Api } from './api.ts';
import { badRequest } from './errors.ts';
import type { Faults } from './faults.ts';
import type { Json, KubeObject } from './objects.ts';
import type { WriteOptions } from './options.ts';
import { tableText } from './printing/tables.ts';
import { formOf, metadataOnly } from './representation.ts';
import type { Body } from './requests.ts';
import type { Target } from './routes.ts';
import type { User } from './users.ts';
import type { Watches } from './watching.ts';

export interface Handling {
  api: Api;
  faults: Faults;
  watches: Watches;
  bookmarkIntervalMs: number;
}

/** A request to a resource. */
export interface Call {
  method: string;
  target: Target;
  query: URLSearchParams;
  accept: string | undefined;
  body: Body;
  userAgent: string;
  user: User;
  response: ServerResponse;
}

export interface Reply {
  code: number;
  text: string;
  /** Texts for `Warning` headers. */
  warnings?: readonly string[];
}

export const jsonReply = (code: number, value: Json): Reply => ({ code, text: JSON.stringify(value) });

export const includeOf = (query: URLSearchParams): string => query.get('includeObject') ?? 'Metadata';

/** One object in the form that the client accepts. */
export const objectReply = (call: Call, code: number, object: KubeObject, warnings: readonly string[] = []): Reply => {
  switch (formOf(call.accept)) {
    case 'object':
      return { code, text: JSON.stringify(object), warnings };
    case 'metadata':
      return { code, text: JSON.stringify(metadataOnly(object)), warnings };
    case 'table': {
      const metadata = { resourceVersion: object.metadata.resourceVersion };
      const options = { includeObject: includeOf(call.query), headers: true };
      return { code, text: tableText(call.target.resource, [object], metadata, options), warnings };
    }
  }
};

/** @throws ApiError 400. */
export const requiredBody = (call: Call): Json => {
  if (call.body.value === undefined) throw badRequest('the request has no body');
  return call.body.value;
};

export const writeOptionsOf = (call: Call, warnings: string[]): WriteOptions => ({
  subresource: call.target.subresource,
  dryRun: call.query.get('dryRun') === 'All',
  fieldValidation: call.query.get('fieldValidation') ?? 'Warn',
  fieldManager: call.query.get('fieldManager') ?? call.userAgent.split('/')[0],
  force: call.query.get('force') === 'true',
  user: call.user,
  warnings,
});
