import type { ServerResponse } from 'node:http';
import { expired } from './errors.ts';
import type { Store } from './store.ts';
import type { Watches } from './watching.ts';

export type ListFault =
  | { kind: 'status'; code: number }
  /** The connection dies in the middle of the body. */
  | { kind: 'truncate' }
  /** A page that continues a list is answered with 410. */
  | { kind: 'expireContinue' }
  /** The list has no items, whatever exists. */
  | { kind: 'empty' };

export interface Delay {
  ms: number;
  /** GET, PATCH, …; all methods when absent. */
  method?: string;
  /** The start of the path; all paths when absent. */
  path?: string;
  /** How many requests are delayed; all until `clear` when absent. */
  count?: number;
}

export type OutageMode = 'reset' | '503';

interface Pending {
  resource: string | undefined;
  fault: ListFault;
  left: number;
}

/** What can go wrong between a client and the API server, on demand. Every method takes effect before it returns. `resource` is a plural name; absent means all. */
export class Faults {
  readonly #watches: Watches;
  readonly #store: Store;
  #pending: Pending[] = [];
  #goneWatches: { resource: string | undefined; left: number }[] = [];
  #webhooks: { resource: string; left: number }[] = [];
  #delays: Delay[] = [];
  #outage: { mode: OutageMode; until: number } | undefined;

  constructor(watches: Watches, store: Store) {
    this.#watches = watches;
    this.#store = store;
  }

  /** Ends open watches cleanly, as a server does after timeoutSeconds. Returns how many. */
  cutWatches(resource?: string): number {
    const streams = this.#watches.of(resource);
    for (const stream of streams) stream.end();
    return streams.length;
  }

  /** Breaks the connections of open watches. Returns how many. */
  resetWatches(resource?: string): number {
    const streams = this.#watches.of(resource);
    for (const stream of streams) stream.reset();
    return streams.length;
  }

  /** Forgets the history: watches that resume from an older revision, and pages that continue a list, are answered with 410. Open watches live on. */
  compact(): void {
    this.#store.compact();
  }

  /** Compacts and sends an ERROR event with code 410 to open watches, which then end. Returns how many. */
  expireWatches(resource?: string): number {
    this.compact();
    const streams = this.#watches.of(resource);
    const error = expired(`too old resource version: 1 (${this.#store.revision})`);
    for (const stream of streams) stream.fail(error);
    return streams.length;
  }

  /** The next `count` watches start with an ERROR event with code 410, whatever revision they ask for. */
  rejectWatches(count: number, resource?: string): void {
    this.#goneWatches.push({ resource, left: count });
  }

  /** From now on, for `ms` (until `endOutage` when absent), all requests fail: by a destroyed connection or by 503. Open connections are destroyed in the first case, watches end in the second. */
  outage(mode: OutageMode = 'reset', ms = Number.POSITIVE_INFINITY): void {
    this.#outage = { mode, until: Date.now() + ms };
    if (mode === 'reset') this.resetWatches();
    else this.cutWatches();
  }

  endOutage(): void {
    this.#outage = undefined;
  }

  failLists(resource: string | undefined, count: number, code: number): void {
    this.listFault({ kind: 'status', code }, count, resource);
  }

  truncateLists(resource: string | undefined, count = 1): void {
    this.listFault({ kind: 'truncate' }, count, resource);
  }

  expireContinue(resource: string | undefined, count = 1): void {
    this.listFault({ kind: 'expireContinue' }, count, resource);
  }

  emptyLists(resource: string | undefined, count = 1): void {
    this.listFault({ kind: 'empty' }, count, resource);
  }

  listFault(fault: ListFault, count: number, resource?: string): void {
    this.#pending.push({ resource, fault, left: count });
  }

  /** The next `count` writes of the resource (`ips`, `services/status`) are refused, as with a webhook of somebody that does not answer and whose failurePolicy is Fail. */
  failWebhook(resource: string, count = 1): void {
    this.#webhooks.push({ resource, left: count });
  }

  delay(delay: Delay): void {
    this.#delays.push({ ...delay });
  }

  /** Ends outage, delays and whatever was still to come. */
  clear(): void {
    this.#pending = [];
    this.#goneWatches = [];
    this.#webhooks = [];
    this.#delays = [];
    this.#outage = undefined;
  }

  /** For the server: the outage in force. */
  currentOutage(): OutageMode | undefined {
    if (this.#outage && this.#outage.until <= Date.now()) this.#outage = undefined;
    return this.#outage?.mode;
  }

  /** For the server: takes the delay of a request, in milliseconds. */
  takeDelay(method: string, path: string): number {
    let total = 0;
    for (const delay of this.#delays) {
      if ((delay.method && delay.method !== method) || (delay.path && !path.startsWith(delay.path)) || delay.count === 0) continue;
      total += delay.ms;
      if (delay.count !== undefined) delay.count -= 1;
    }
    this.#delays = this.#delays.filter((delay) => delay.count !== 0);
    return total;
  }

  /** For the server: takes the fault of a list. `continued` tells whether it is a further page. */
  takeListFault(resource: string, continued: boolean): ListFault | undefined {
    const found = this.#pending.find(
      (pending) => (pending.resource ?? resource) === resource && (pending.fault.kind !== 'expireContinue' || continued),
    );
    if (!found) return undefined;
    found.left -= 1;
    this.#pending = this.#pending.filter((pending) => pending.left > 0);
    return found.fault;
  }

  /** For the server: whether a webhook refuses a write of the resource. */
  takeWebhookFailure(resource: string): boolean {
    const found = this.#webhooks.find((webhook) => webhook.resource === resource);
    if (!found) return false;
    found.left -= 1;
    this.#webhooks = this.#webhooks.filter((webhook) => webhook.left > 0);
    return true;
  }

  /** For the server: whether a starting watch is to be refused with 410. */
  takeWatchRejection(resource: string): boolean {
    const found = this.#goneWatches.find((gone) => (gone.resource ?? resource) === resource);
    if (!found) return false;
    found.left -= 1;
    this.#goneWatches = this.#goneWatches.filter((gone) => gone.left > 0);
    return true;
  }
}

/** Writes half of a body under the length of all of it, then breaks the connection. */
export const truncate = (response: ServerResponse, text: string): void => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, Math.floor(text.length / 2)), () => response.destroy());
};
