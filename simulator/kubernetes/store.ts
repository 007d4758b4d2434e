import { equal, type KubeObject } from './objects.ts';

/** One object at one revision. Never changed: a write makes a new one, so lists and watches may hold it as long as they like. */
export class Entry {
  readonly object: KubeObject;
  readonly revision: number;
  #text: string | undefined;

  constructor(object: KubeObject, revision: number) {
    this.object = object;
    this.revision = revision;
  }

  /** The object as JSON text, made once. */
  get text(): string {
    this.#text ??= JSON.stringify(this.object);
    return this.#text;
  }
}

export interface Change {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  storage: string;
  revision: number;
  entry: Entry;
  /** What was there before, for watches whose selector the object entered or left by this change. */
  previous: Entry | undefined;
}

export interface Snapshot {
  revision: number;
  entries: readonly Entry[];
}

type Listener = (change: Change) => void;

export const keyOf = (namespace: string | undefined, name: string): string => (namespace ? `${namespace}/${name}` : name);

const keyOfObject = (object: KubeObject): string => keyOf(object.metadata.namespace, object.metadata.name ?? '');

/** How many list snapshots are kept for `continue`; an older page token is expired. */
const SNAPSHOTS = 64;

/** Everything the cluster knows: current objects, one revision counter for all of them (as etcd has), and the changes a watch may resume from. */
export class Store {
  readonly #collections = new Map<string, Map<string, Entry>>();
  readonly #sorted = new Map<string, readonly Entry[]>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #historySize: number;
  #history: Change[] = [];
  #revision = 0;
  #compacted = 0;

  constructor(historySize: number) {
    this.#historySize = historySize;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The newest revision that watches can no longer resume from. */
  get compacted(): number {
    return this.#compacted;
  }

  get(storage: string, key: string): Entry | undefined {
    return this.#collections.get(storage)?.get(key);
  }

  size(storage: string): number {
    return this.#collections.get(storage)?.size ?? 0;
  }

  /** All objects of a storage now, in the order of their keys (namespace, then name). */
  list(storage: string): Snapshot {
    let entries = this.#sorted.get(storage);
    if (!entries) {
      const collection = this.#collections.get(storage) ?? new Map<string, Entry>();
      entries = [...collection].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
      this.#sorted.set(storage, entries);
    }
    return { revision: this.#revision, entries };
  }

  /** Keeps a snapshot for the following pages of a list. */
  keep(storage: string, snapshot: Snapshot): void {
    const id = `${storage}@${snapshot.revision}`;
    this.#snapshots.delete(id);
    this.#snapshots.set(id, snapshot);
    const oldest = this.#snapshots.keys().next().value;
    if (this.#snapshots.size > SNAPSHOTS && oldest !== undefined) this.#snapshots.delete(oldest);
  }

  kept(storage: string, revision: number): Snapshot | undefined {
    return this.#snapshots.get(`${storage}@${revision}`);
  }

  /** Stores the object under a new revision, which it writes into metadata.resourceVersion, and tells the watches. An unchanged object keeps its revision. */
  put(storage: string, object: KubeObject): Entry {
    const key = keyOfObject(object);
    const previous = this.get(storage, key);
    if (previous && equal(previous.object, object)) return previous;
    this.#revision += 1;
    object.metadata.resourceVersion = String(this.#revision);
    const entry = new Entry(object, this.#revision);
    this.#collection(storage).set(key, entry);
    if (!previous) this.#sorted.delete(storage);
    else this.#replaceSorted(storage, previous, entry);
    this.#record({ type: previous ? 'MODIFIED' : 'ADDED', storage, revision: this.#revision, entry, previous });
    return entry;
  }

  /** Removes the object. Its last state, under the revision of the removal, goes to the watches. */
  remove(storage: string, key: string): Entry | undefined {
    const previous = this.get(storage, key);
    if (!previous) return undefined;
    this.#collection(storage).delete(key);
    this.#replaceSorted(storage, previous);
    this.#revision += 1;
    const last = { ...previous.object, metadata: { ...previous.object.metadata, resourceVersion: String(this.#revision) } };
    const entry = new Entry(last, this.#revision);
    this.#record({ type: 'DELETED', storage, revision: this.#revision, entry, previous });
    return entry;
  }

  /** The changes of a storage after a revision, or undefined when some of them are forgotten. */
  since(storage: string, revision: number): Change[] | undefined {
    if (revision < this.#compacted) return undefined;
    return this.#history.filter((change) => change.revision > revision && change.storage === storage);
  }

  /** Forgets all history: watches cannot resume, and list pages cannot be continued. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.#revision;
    this.#snapshots.clear();
  }

  forgetSnapshots(): void {
    this.#snapshots.clear();
  }

  /** Calls `listener` during each later change of the storage; returns the end of that. */
  subscribe(storage: string, listener: Listener): () => void {
    let listeners = this.#listeners.get(storage);
    if (!listeners) {
      listeners = new Set();
      this.#listeners.set(storage, listeners);
    }
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  #collection(storage: string): Map<string, Entry> {
    let collection = this.#collections.get(storage);
    if (!collection) {
      collection = new Map();
      this.#collections.set(storage, collection);
    }
    return collection;
  }

  /** Sorting thousands of keys after every write would dominate a list: a changed object keeps its place, a removed one leaves it. */
  #replaceSorted(storage: string, previous: Entry, ...replacement: Entry[]): void {
    const sorted = this.#sorted.get(storage);
    const place = sorted?.indexOf(previous) ?? -1;
    if (sorted && place >= 0) this.#sorted.set(storage, sorted.toSpliced(place, 1, ...replacement));
    else this.#sorted.delete(storage);
  }

  #record(change: Change): void {
    this.#history.push(change);
    if (this.#history.length > this.#historySize * 2) {
      const dropped = this.#history.splice(0, this.#history.length - this.#historySize);
      this.#compacted = dropped.at(-1)?.revision ?? this.#compacted;
    }
    for (const listener of this.#listeners.get(change.storage) ?? []) listener(change);
  }
}
