import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Fields, fieldsOf, flag, text } from './body.ts';
import type { CallLog } from './call-log.ts';
import type { Fault, Faults } from './faults.ts';
import type { Account, Rights } from './model.ts';
import { parseFault } from './parse-fault.ts';
import { invalid, noRoute, Refusal } from './refusal.ts';
import { parseJson, readBody, send } from './wire.ts';
import { placeZone } from './zones.ts';

export interface ControlParts {
  readonly account: Account;
  readonly faults: Faults;
  readonly log: CallLog;
  readonly allow: (token: string, rights: Partial<Rights>) => void;
}

interface ControlRequest extends ControlParts {
  readonly url: URL;
  /** The part of the path after /_control/<noun>. */
  readonly id: string | undefined;
  readonly body: Fields;
}

interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

/** Answers requests below /_control, by which another process scripts the simulator. No token; it listens on loopback only. */
export function createControl(parts: ControlParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const { status, body } = await replyTo(parts, request);
    send(response, { status, text: JSON.stringify(body) });
  };
}

async function replyTo(parts: ControlParts, request: IncomingMessage): Promise<ControlReply> {
  try {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const [noun = '', id] = url.pathname.split('/').slice(2);
    const handle = handlers[`${request.method ?? 'GET'} ${noun}`];
    if (handle === undefined) throw noRoute(url.pathname, 404);
    return handle({ ...parts, url, id, body: fieldsOf(parseJson(await readBody(request))) });
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: { message: error.message } };
    return { status: 500, body: { message: String(error) } };
  }
}

const ok = (body: unknown, status = 200): ControlReply => ({ status, body });
const done = ok({});

const shown = ({ id, spec, hits }: Fault): Record<string, unknown> => ({ id, ...spec, hits });

const handlers: Readonly<Record<string, (request: ControlRequest) => ControlReply>> = {
  'GET calls': ({ log, url }) =>
    ok({ calls: log.select({ since: Number(url.searchParams.get('since') ?? 0), writes: url.searchParams.get('writes') === '1' }) }),
  'DELETE calls': ({ log }) => {
    log.clear();
    return done;
  },
  'GET state': ({ account }) =>
    ok({ zones: [...account.zones.values()].map((zone) => ({ ...zone, records: [...zone.records.values()] })) }),
  'POST zones': ({ account, body }) => {
    const status = text(body, 'status') === 'pending' ? 'pending' : 'active';
    const { id, name } = placeZone(account, { name: required(body, 'name'), id: text(body, 'id'), status });
    return ok({ zone: { id, name, status } }, 201);
  },
  'DELETE zones': ({ account, id = '', url }) => {
    if (!account.zones.delete(id)) throw noRoute(url.pathname, 404);
    return done;
  },
  'POST tokens': ({ allow, body }) => {
    const rights = (['zoneRead', 'dnsRead', 'dnsWrite'] as const).map((right) => [right, flag(body, right) ?? true]);
    allow(required(body, 'token'), Object.fromEntries(rights));
    return done;
  },
  'POST faults': ({ faults, body }) => ok({ fault: shown(faults.add(parseFault(body))) }, 201),
  'GET faults': ({ faults }) => ok({ faults: faults.list().map(shown) }),
  'DELETE faults': ({ faults, id, url }) => {
    if (id === undefined) faults.clear();
    else if (!faults.remove(Number(id))) throw noRoute(url.pathname, 404);
    return done;
  },
};

function required(body: Fields, name: string): string {
  const value = text(body, name);
  if (value === undefined) throw invalid(1000, `${name} is required.`);
  return value;
}
