import { badRequest } from './errors.ts';
import type { Faults, OutageMode } from './faults.ts';
import { type JobScripts, jobScriptOf } from './job-scripts.ts';
import { isObject, type Json, type JsonObject } from './objects.ts';
import type { LoggedRequest } from './requests.ts';

interface ControlTargets {
  faults: Faults;
  jobs: JobScripts;
  requests: LoggedRequest[];
}

const text = (body: JsonObject, key: string): string | undefined => {
  const value = body[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const number = (body: JsonObject, key: string, fallback: number): number => {
  const value = body[key];
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !(value >= 0)) throw badRequest(`${key} must be a number that is not negative`);
  return value;
};

const outageMode = (body: JsonObject): OutageMode => {
  const mode = text(body, 'mode') ?? 'reset';
  if (mode === 'reset' || mode === '503') return mode;
  throw badRequest('mode must be "reset" or "503"');
};

const delayOf = (body: JsonObject): Parameters<Faults['delay']>[0] => {
  const method = text(body, 'method');
  const path = text(body, 'path');
  return {
    ms: number(body, 'ms', 0),
    ...(method ? { method } : {}),
    ...(path ? { path } : {}),
    ...(body.count === undefined ? {} : { count: number(body, 'count', 1) }),
  };
};

/** POST /_control/<name> with a JSON body; the names are those of the methods of `Faults`. */
const ACTIONS: Readonly<Record<string, (faults: Faults, body: JsonObject) => number | undefined>> = {
  cutWatches: (faults, body) => faults.cutWatches(text(body, 'resource')),
  resetWatches: (faults, body) => faults.resetWatches(text(body, 'resource')),
  expireWatches: (faults, body) => faults.expireWatches(text(body, 'resource')),
  rejectWatches: (faults, body) => void faults.rejectWatches(number(body, 'count', 1), text(body, 'resource')),
  compact: (faults) => void faults.compact(),
  outage: (faults, body) => void faults.outage(outageMode(body), number(body, 'ms', Number.POSITIVE_INFINITY)),
  endOutage: (faults) => void faults.endOutage(),
  failLists: (faults, body) => void faults.failLists(text(body, 'resource'), number(body, 'count', 1), number(body, 'code', 500)),
  truncateLists: (faults, body) => void faults.truncateLists(text(body, 'resource'), number(body, 'count', 1)),
  expireContinue: (faults, body) => void faults.expireContinue(text(body, 'resource'), number(body, 'count', 1)),
  emptyLists: (faults, body) => void faults.emptyLists(text(body, 'resource'), number(body, 'count', 1)),
  failWebhook: (faults, body) => void faults.failWebhook(text(body, 'resource') ?? '', number(body, 'count', 1)),
  delay: (faults, body) => void faults.delay(delayOf(body)),
  clear: (faults) => void faults.clear(),
};

/** Answers the control routes, which an outage leaves alone. GET /_control/requests is the request log, POST /_control/jobs
 *  adds a `JobScript`, DELETE /_control/jobs takes all of them away. @throws ApiError 400. */
export const control = (targets: ControlTargets, method: string, name: string, body: Json | undefined): JsonObject => {
  if (name === 'requests' && method === 'GET') return { requests: targets.requests as unknown as Json[] };
  if (name === 'requests' && method === 'DELETE') {
    targets.requests.length = 0;
    return {};
  }
  if (name === 'jobs' && method === 'POST') {
    targets.jobs.add(jobScriptOf(body));
    return {};
  }
  if (name === 'jobs' && method === 'DELETE') {
    targets.jobs.clear();
    return {};
  }
  const action = ACTIONS[name];
  if (!action || method !== 'POST') {
    throw badRequest(`control routes: GET and DELETE requests, POST and DELETE jobs, POST ${Object.keys(ACTIONS).join(', POST ')}`);
  }
  const affected = action(targets.faults, isObject(body) ? body : {});
  return affected === undefined ? {} : { affected };
};
