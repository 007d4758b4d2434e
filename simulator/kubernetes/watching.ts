import type { ServerResponse } from 'node:http';
import type { Api } from './api.ts';
import { type ApiError, badRequest, expired } from './errors.ts';
import { selectionOf } from './listing.ts';
import type { JsonObject } from './objects.ts';
import { tableText } from './printing/tables.ts';
import { type Form, metadataOnly, textOf } from './representation.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import type { Predicate } from './selectors.ts';
import type { Change, Entry } from './store.ts';
import { fromStorage } from './versions.ts';

interface WatchRequest {
  resource: Resource;
  namespace: string | undefined;
  query: URLSearchParams;
  form: Form;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** What a change looks like through a selector: entering it is ADDED, leaving it is DELETED. */
const seenThrough = (change: Change, selection: Predicate | undefined): EventType | undefined => {
  if (!selection) return change.type;
  const before = change.previous !== undefined && selection(change.previous.object);
  const now = change.type !== 'DELETED' && selection(change.entry.object);
  if (now) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : undefined;
};

/** One open watch. */
export class WatchStream {
  readonly resource: Resource;
  readonly #request: WatchRequest;
  readonly #response: ServerResponse;
  readonly #api: Api;
  readonly #selection: Predicate | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  #unsubscribe: () => void = () => undefined;
  #headersSent = false;

  constructor(api: Api, request: WatchRequest, response: ServerResponse) {
    this.resource = request.resource;
    this.#api = api;
    this.#request = request;
    this.#response = response;
    this.#selection = selectionOf(request.resource, request.namespace, request.query);
  }

  /** Sends what the client has missed, then every change until it goes away or its timeoutSeconds are over. @throws ApiError 400. */
  start(bookmarkIntervalMs: number): void {
    const { query, resource } = this.#request;
    const text = query.get('resourceVersion') ?? '';
    if (!/^\d*$/.test(text)) throw badRequest(`Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`);
    this.#response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    this.#response.flushHeaders();
    this.#response.on('close', () => this.#release());
    this.#startTimers(query, bookmarkIntervalMs);
    const from = Number(text);
    const initial = query.get('sendInitialEvents') === 'true' || (from === 0 && query.get('sendInitialEvents') !== 'false');
    if (initial) this.#sendAll();
    else if (from > 0 && !this.#sendSince(from)) return;
    // A revision of the future (a client that saw another history) is heard once this history reaches it.
    this.#unsubscribe = this.#api.store.subscribe(resource.storage, (change) => {
      if (change.revision > from) this.#send(change);
    });
  }

  /** Ends as a server does that closes its watches: cleanly, without an event. */
  end(): void {
    this.#release();
    this.#response.end();
  }

  /** Breaks the connection. */
  reset(): void {
    this.#release();
    this.#response.destroy();
  }

  /** Sends an ERROR event with this refusal and ends. */
  fail(error: ApiError): void {
    this.#response.write(`${JSON.stringify({ type: 'ERROR', object: error.status() })}\n`);
    this.end();
  }

  #sendAll(): void {
    const { revision, entries } = this.#api.store.list(this.resource.storage);
    for (const entry of entries) if (!this.#selection || this.#selection(entry.object)) this.#write('ADDED', entry);
    if (this.#request.query.get('sendInitialEvents') === 'true') this.#bookmark(revision, { 'k8s.io/initial-events-end': 'true' });
  }

  #sendSince(revision: number): boolean {
    const missed = this.#api.store.since(this.resource.storage, revision);
    if (!missed) {
      this.fail(expired(`too old resource version: ${revision} (${this.#api.store.compacted})`));
      return false;
    }
    for (const change of missed) this.#send(change);
    return true;
  }

  #send(change: Change): void {
    const type = seenThrough(change, this.#selection);
    if (!type) return;
    if (type !== 'DELETED' || change.type === 'DELETED' || !change.previous) {
      this.#write(type, change.entry);
      return;
    }
    // It left the selection: the client gets the last state that it knew, under the revision of the change.
    const { object } = change.previous;
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(change.revision) } };
    this.#writeText(type, this.#form(last, JSON.stringify(fromStorage(this.resource, last))));
  }

  #write(type: EventType, entry: Entry): void {
    this.#writeText(type, this.#form(entry.object, textOf(this.resource, entry)));
  }

  #form(stored: Entry['object'], text: string): string {
    switch (this.#request.form) {
      case 'object':
        return text;
      case 'metadata':
        return JSON.stringify(metadataOnly(fromStorage(this.resource, stored)));
      case 'table': {
        const headers = !this.#headersSent;
        this.#headersSent = true;
        const objects = [fromStorage(this.resource, stored)];
        return tableText(
          this.resource,
          objects,
          { resourceVersion: stored.metadata.resourceVersion },
          {
            includeObject: this.#request.query.get('includeObject') ?? 'Metadata',
            headers,
          },
        );
      }
    }
  }

  #writeText(type: string, text: string): void {
    this.#response.write(`{"type":"${type}","object":${text}}\n`);
  }

  #bookmark(revision: number, annotations?: JsonObject): void {
    const { resource } = this;
    const object: JsonObject = {
      kind: resource.kind,
      apiVersion: apiVersionOf(resource),
      metadata: { resourceVersion: String(revision), creationTimestamp: null, ...(annotations ? { annotations } : {}) },
    };
    this.#writeText('BOOKMARK', JSON.stringify(object));
  }

  #startTimers(query: URLSearchParams, bookmarkIntervalMs: number): void {
    const bookmarks = query.get('allowWatchBookmarks') === 'true' || query.get('allowWatchBookmarks') === '1';
    const mark = (): void => this.#bookmark(this.#api.store.revision);
    if (bookmarks) this.#timers.push(setInterval(mark, bookmarkIntervalMs));
    const seconds = Number(query.get('timeoutSeconds') ?? 0);
    if (seconds > 0) {
      if (bookmarks && seconds > 2) this.#timers.push(setTimeout(mark, (seconds - 2) * 1000));
      this.#timers.push(setTimeout(() => this.end(), seconds * 1000));
    }
  }

  #release(): void {
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

/** The open watches, so that faults can reach them. */
export class Watches {
  readonly #open = new Set<WatchStream>();

  get size(): number {
    return this.#open.size;
  }

  add(stream: WatchStream, response: ServerResponse): void {
    this.#open.add(stream);
    response.on('close', () => this.#open.delete(stream));
  }

  /** The open watches of a resource (its plural name), or all of them. */
  of(plural?: string): WatchStream[] {
    return [...this.#open].filter((stream) => plural === undefined || stream.resource.plural === plural);
  }
}
