import { FINALIZER } from '../../../machines/model/types.ts';
import { isConflict, isForbidden, isNotFound } from '../client/api-error.ts';
import { despiteConflicts } from '../client/conflicts.ts';
import { type Connection, MERGE_PATCH } from '../client/connection.ts';
import { placeOf } from './names.ts';
import { type Hide, readJob, type SeenJob } from './reading.ts';
import { ENFORCED_STANDARD } from './security.ts';

/** Reads and writes Jobs. A `job` is `namespace/name`. */
export class JobObjects {
  readonly #connection: Connection;
  readonly #hide: Hide;

  constructor(connection: Connection, hide: Hide) {
    this.#connection = connection;
    this.#hide = hide;
  }

  /** @throws ServerUnreachable | ApiError */
  async get(job: string): Promise<SeenJob | undefined> {
    try {
      return readJob(await this.#connection.send({ method: 'GET', path: pathOf(job) }), this.#hide);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The Pod security standard that the namespace enforces by its label; empty for none, and when reading it is forbidden.
   *  @throws ServerUnreachable | ApiError */
  async standardOf(namespace: string): Promise<string> {
    try {
      const found = await this.#connection.send({ method: 'GET', path: `/api/v1/namespaces/${encodeURIComponent(namespace)}` });
      const { metadata } = found as { readonly metadata?: { readonly labels?: Readonly<Record<string, string>> } };
      return metadata?.labels?.[ENFORCED_STANDARD] ?? '';
    } catch (error) {
      // A role of an earlier version does not permit this: Jobs continue as before.
      if (isForbidden(error)) return '';
      throw error;
    }
  }

  /** False when a Job of that name already exists. @throws ServerUnreachable | ApiError */
  async create(namespace: string, body: unknown): Promise<boolean> {
    try {
      await this.#connection.send({ method: 'POST', path: `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`, body });
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  /** Deletes exactly the Job that was seen, by uid: `Foreground` keeps it until its Pods are gone. @throws ServerUnreachable | ApiError */
  async delete(job: string, { uid }: Pick<SeenJob, 'uid'>, propagationPolicy: 'Foreground' | 'Background'): Promise<void> {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy, preconditions: { uid } };
    await this.#connection.send({ method: 'DELETE', path: pathOf(job), body }).catch(unlessGone);
  }

  /** Deletes the Job and removes our finalizer. @throws ServerUnreachable | ApiError */
  async release(job: string, seen: SeenJob): Promise<void> {
    if (!seen.deleting) await this.delete(job, seen, 'Background');
    if (!seen.finalizers.includes(FINALIZER)) return;
    // The garbage collector removes its own finalizer at the same time.
    await despiteConflicts(async () => {
      const left = await this.get(job);
      if (left?.uid !== seen.uid) return;
      const finalizers = left.finalizers.filter((each) => each !== FINALIZER);
      const body = { metadata: { resourceVersion: left.resourceVersion, finalizers } };
      try {
        await this.#connection.send({ method: 'PATCH', path: pathOf(job), body, contentType: MERGE_PATCH });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
  }
}

const pathOf = (job: string): string => {
  const { namespace, name } = placeOf(job);
  return `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs/${encodeURIComponent(name)}`;
};

/** Ignores that the Job is gone or was replaced by another of the same name. */
const unlessGone = (error: unknown): void => {
  if (!isNotFound(error) && !isConflict(error)) throw error;
};
