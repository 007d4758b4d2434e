import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { isObject, type JsonObject, type KubeObject } from '../simulator/kubernetes/objects.ts';
import { routedRow } from './routed-view.ts';
import { reservationOf, warnedOf, withoutService, withService, withWarning } from './service-view.ts';
import { now } from './time.ts';
import {
  changes,
  EMPTY,
  type Outside,
  type View,
  withNode,
  withOutside,
  withoutNode,
  withoutPool,
  withPool,
  withReservation,
  withRouted,
  withServices,
} from './view.ts';

const RECONNECT_MS = 200;
const LOOK_EVERY_MS = 20;

export interface Follower {
  readonly view: View;
  close(): void;
}

export interface Followed {
  /** Base URL of the Kubernetes API. */
  readonly apiUrl: string;
  readonly poolPath: string;
  readonly routedPath: string;
  /** Of the namespace whose Services are followed. */
  readonly servicesPath: string;
  readonly eventsPath: string;
  readonly reservationsPath: string;
  /** What is outside of Kubernetes, as it is now. */
  readonly look: () => Outside;
}

/** Keeps a view of one pool, one RoutedIP, the Services of a namespace and all nodes by watching them, and of what is outside of Kubernetes by looking at it often; tells after each
 *  event what it changed, in sentences. */
export function follow(
  { apiUrl, poolPath, routedPath, servicesPath, eventsPath, reservationsPath, look }: Followed,
  tell: (sentences: readonly string[]) => void,
): Follower {
  const state = { view: EMPTY };
  // An Event may be told before the Service that it is about: they come by two watches.
  const warnings = new Map<string, KubeObject>();
  const update = (next: View): void => {
    const said = changes(state.view, next);
    state.view = next;
    tell(said);
  };
  const watches = [
    watch(`${apiUrl}${poolPath}`, (type, object, at) =>
      update(type === 'DELETED' ? withoutPool(state.view) : withPool(state.view, object, at)),
    ),
    watch(`${apiUrl}${routedPath}`, (type, object, at) =>
      update(withRouted(state.view, type === 'DELETED' ? null : routedRow(object, state.view.routed, at))),
    ),
    watch(`${apiUrl}/api/v1/nodes`, (type, object, at) =>
      update(type === 'DELETED' ? withoutNode(state.view, object.metadata.name ?? '') : withNode(state.view, object, at)),
    ),
    watch(`${apiUrl}${servicesPath}`, (type, object, at) => {
      const { services } = state.view;
      const name = object.metadata.name ?? '';
      if (type === 'DELETED') {
        warnings.delete(name);
        update(withServices(state.view, withoutService(services, name)));
        return;
      }
      const seen = withService(services, object, at);
      const early = services.some((row) => row.name === name) ? undefined : warnings.get(name);
      update(withServices(state.view, early ? withWarning(seen, early) : seen));
    }),
    watch(`${apiUrl}${eventsPath}`, (_, event) => {
      const name = warnedOf(event);
      if (name !== null) warnings.set(name, event);
      update(withServices(state.view, withWarning(state.view.services, event)));
    }),
    watch(`${apiUrl}${reservationsPath}`, (type, ip, at) => {
      const { owner, ...rest } = reservationOf(ip, at);
      if (type !== 'MODIFIED') update(withReservation(state.view, { ...rest, owner: type === 'DELETED' ? '' : owner }));
    }),
  ];
  const looking = setInterval(() => {
    const { record, hosts, traffic } = state.view;
    const outside = look();
    if (JSON.stringify(outside) !== JSON.stringify({ record, hosts, traffic })) update(withOutside(state.view, outside));
  }, LOOK_EVERY_MS);
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
