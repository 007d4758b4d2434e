import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { isObject, type JsonObject, type KubeObject } from '../simulator/kubernetes/objects.ts';
import { now } from './time.ts';
import { changes, EMPTY, type RecordRow, type View, withNode, withoutNode, withPool, withRecord } from './view.ts';

const RECONNECT_MS = 200;
const LOOK_AT_RECORD_MS = 20;

export interface Follower {
  readonly view: View;
  close(): void;
}

export interface Followed {
  /** Base URL of the Kubernetes API. */
  readonly apiUrl: string;
  readonly poolPath: string;
  /** The pool's name in DNS, as it is now. */
  readonly record: () => RecordRow | null;
}

/** Keeps a view of one pool and of all nodes by watching them, and of a DNS record by looking at it often; tells after each event what it changed, in
 *  sentences. */
export function follow({ apiUrl, poolPath, record }: Followed, tell: (sentences: readonly string[]) => void): Follower {
  const state = { view: EMPTY };
  const update = (next: View): void => {
    const said = changes(state.view, next);
    state.view = next;
    tell(said);
  };
  const watches = [
    watch(`${apiUrl}${poolPath}`, (type, object, at) =>
      update(type === 'DELETED' ? { ...EMPTY, nodes: state.view.nodes, record: state.view.record } : withPool(state.view, object, at)),
    ),
    watch(`${apiUrl}/api/v1/nodes`, (type, object, at) =>
      update(type === 'DELETED' ? withoutNode(state.view, object.metadata.name ?? '') : withNode(state.view, object, at)),
    ),
  ];
  const looking = setInterval(() => {
    const now = record();
    if (JSON.stringify(now) !== JSON.stringify(state.view.record)) update(withRecord(state.view, now));
  }, LOOK_AT_RECORD_MS);
  return {
    get view() {
      return state.view;
    },
    close: () => {
      clearInterval(looking);
      for (const one of watches) one.close();
    },
  };
}

type OnEvent = (type: string, object: KubeObject, at: number) => void;

/** Watches a list; opens the watch again when it ends, which tells all objects anew. `at` is when the event came in, ms since the epoch. */
export function watch(url: string, onEvent: OnEvent): { close(): void } {
  const state: { closed: boolean; timer?: NodeJS.Timeout; request?: ClientRequest } = { closed: false };
  const open = (): void => {
    state.request = get(`${url}${url.includes('?') ? '&' : '?'}watch=1`, { agent: false }, (response) => {
      response.on('error', () => undefined);
      if (response.statusCode === 200) readEvents(response, onEvent);
      else response.resume();
    });
    // Whatever ends it, an error or the server, it is closed once.
    state.request
      .on('error', () => undefined)
      .on('close', () => {
        if (!state.closed) state.timer = setTimeout(open, RECONNECT_MS);
      });
  };
  open();
  return {
    close: () => {
      state.closed = true;
      clearTimeout(state.timer);
      state.request?.destroy();
    },
  };
}

function readEvents(response: IncomingMessage, onEvent: OnEvent): void {
  let rest = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const at = now();
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as JsonObject;
      if (typeof type === 'string' && type !== 'BOOKMARK' && type !== 'ERROR' && isObject(object)) onEvent(type, object as KubeObject, at);
    }
  });
}
