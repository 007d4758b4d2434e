import { isDeepStrictEqual } from 'node:util';
import type { SecretRef } from '../../../actors/ports/directory.ts';
import type { SecretReading, Secrets, SecretUse } from '../../../actors/ports/secrets.ts';
import { fieldsOf } from '../../../machines/model/types.ts';
import { Reflector, type Surroundings } from '../cache/reflector.ts';
import { type Trimmed, text } from '../cache/trim.ts';
import { ApiError } from '../client/api-error.ts';

type Name = Pick<SecretRef, 'namespace' | 'name'>;
type Values = Readonly<Record<string, string>>;

/** Valid names of a Secret and of its namespace. Both become part of a path and of a selector. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Watches each Secret individually by name: a Role limited to single Secrets (`resourceNames` with get, list and watch) is enough. */
export class KubernetesSecrets implements Secrets {
  readonly #world: Surroundings;
  readonly #watched = new Map<string, WatchedSecret>();

  constructor(world: Surroundings) {
    this.#world = world;
  }

  use(ref: Name, changed: () => void): SecretUse {
    const { namespace, name } = ref;
    if (!NAMESPACE.test(namespace) || !NAME.test(name)) {
      const why = `${textOf(ref)} cannot be there: no Secret may be named so`;
      return { reading: () => ({ kind: 'missing', why }), release: () => undefined };
    }
    const key = `${namespace}/${name}`;
    const watched = this.#watched.get(key) ?? new WatchedSecret(this.#world, ref);
    this.#watched.set(key, watched);
    const user = { changed };
    watched.users.add(user);
    return {
      reading: () => watched.reading(),
      release: () => {
        if (!watched.users.delete(user) || watched.users.size > 0) return;
        watched.stop();
        this.#watched.delete(key);
      },
    };
  }

  close(): void {
    for (const watched of this.#watched.values()) watched.stop();
    this.#watched.clear();
  }
}

class WatchedSecret {
  readonly users = new Set<{ readonly changed: () => void }>();
  readonly #ref: Name;
  readonly #reflector: Reflector<Values>;
  /** The server's last refusal before the Secret was read; a later outage does not clear it. */
  #refused: ApiError | null = null;

  constructor(world: Surroundings, ref: Name) {
    this.#ref = ref;
    const { namespace, name } = ref;
    const query = { path: `/api/v1/namespaces/${namespace}/secrets`, labelSelector: '', fieldSelector: `metadata.name=${name}` };
    const subject = { query, trim: (object: unknown) => trimSecret(ref, object), same: isDeepStrictEqual };
    const changed = (): void => {
      for (const user of [...this.users]) user.changed();
    };
    // Changes before the first complete list are not reported.
    const changedSince = (): void => {
      if (this.#reflector.synced) changed();
    };
    this.#reflector = new Reflector<Values>(world, subject, {
      set: changedSince,
      gone: changedSince,
      synced: changed,
      troubled: (error) => {
        if (this.#reflector.synced || !(error instanceof ApiError) || error.message === this.#refused?.message) return;
        this.#refused = error;
        changed();
      },
    });
    this.#reflector.start();
  }

  reading(): SecretReading {
    const [values] = this.#reflector.values();
    if (values !== undefined) return { kind: 'present', values };
    if (this.#reflector.synced) return { kind: 'missing', why: `${textOf(this.#ref)} is not there` };
    return this.#refused === null
      ? { kind: 'unread' }
      : { kind: 'missing', why: `${textOf(this.#ref)} cannot be read: ${this.#refused.message}` };
  }

  stop(): void {
    this.#reflector.stop();
  }
}

const textOf = ({ namespace, name }: Name): string => `Secret ${namespace}/${name}`;

/** The values of the Secret as text; null for any other object that the server sends. */
function trimSecret({ namespace, name }: Name, object: unknown): Trimmed<Values> | null {
  const { metadata, data } = fieldsOf(object);
  const meta = fieldsOf(metadata);
  if (meta.name !== name || meta.namespace !== namespace) return null;
  const entries = Object.entries(fieldsOf(data));
  const values = entries.flatMap(([key, value]) => (typeof value === 'string' ? [[key, Buffer.from(value, 'base64').toString()]] : []));
  return { key: name, uid: text(meta.uid), value: Object.fromEntries(values) };
}
