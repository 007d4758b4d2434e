import { isDeepStrictEqual } from 'node:util';
import type { Namespaces } from '../../../actors/ports/namespaces.ts';
import { fieldsOf } from '../../../machines/model/types.ts';
import { Reflector, type Surroundings } from '../cache/reflector.ts';
import type { Trimmed } from '../cache/trim.ts';
import { messageOf } from '../client/api-error.ts';

interface Labelled {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

const QUERY = { path: '/api/v1/namespaces', labelSelector: '' };

/** The labels of all Namespaces through one watch, which starts on first use. Needs the right to list and watch Namespaces. */
export class KubernetesNamespaces implements Namespaces {
  readonly #reflector: Reflector<Labelled>;
  readonly #listeners: ((namespace: string | null) => void)[] = [];
  #isWatching = false;

  constructor(world: Surroundings) {
    const told = (namespace: string | null): void => {
      if (this.#reflector.synced) for (const listener of this.#listeners) listener(namespace);
    };
    this.#reflector = new Reflector<Labelled>(
      world,
      { query: QUERY, trim: trimNamespace, same: isDeepStrictEqual },
      { set: ({ name }) => told(name), gone: ({ name }) => told(name), synced: () => told(null), troubled: () => this.#troubled() },
    );
  }

  labelsOf(namespace: string): ReturnType<Namespaces['labelsOf']> {
    if (!this.#isWatching) {
      this.#isWatching = true;
      this.#reflector.start();
    }
    const labelled = this.#reflector.get(namespace);
    if (labelled) return { kind: 'known', labels: labelled.labels };
    if (this.#reflector.synced) return { kind: 'missing' };
    const { trouble } = this.#reflector;
    return { kind: 'unknown', why: trouble ? messageOf(trouble) : 'Namespaces are being read' };
  }

  onChange(changed: (namespace: string | null) => void): void {
    this.#listeners.push(changed);
  }

  close(): void {
    this.#reflector.stop();
  }

  /** Notifies listeners, whose messages include the reason. Labels that were read before remain valid. */
  #troubled(): void {
    if (!this.#reflector.synced) for (const listener of this.#listeners) listener(null);
  }
}

function trimNamespace(object: unknown): Trimmed<Labelled> | null {
  const { name, uid, labels } = fieldsOf(fieldsOf(object).metadata);
  if (typeof name !== 'string') return null;
  const texts = Object.entries(fieldsOf(labels)).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value] as const] : []));
  return { key: name, uid: typeof uid === 'string' ? uid : '', value: { name, labels: Object.fromEntries(texts) } };
}
