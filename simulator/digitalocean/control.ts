import type { IncomingMessage, ServerResponse } from 'node:http';
import { moveByHand, placeAddress, settle } from './addresses.ts';
import { type Fields, fieldsOf, flag, integer, text, texts } from './body.ts';
import type { CallLog } from './call-log.ts';
import type { Cloud } from './cloud.ts';
import { placeDroplet, removeDroplet } from './droplets.ts';
import type { Faults } from './faults.ts';
import { parseFault } from './parse-fault.ts';
import { badRequest, notFound, Refusal } from './refusal.ts';
import { noContent, ok, type Reply } from './reply.ts';
import { parseJson, readBody, send } from './wire.ts';

export interface ControlParts {
  readonly cloud: Cloud;
  readonly faults: Faults;
  readonly log: CallLog;
}

interface ControlRequest extends ControlParts {
  readonly url: URL;
  /** The parts of the path after /_control/<noun>. */
  readonly rest: readonly string[];
  readonly body: Fields;
}

/** Answers requests below /_control, by which another process scripts the simulator. No token; it listens on loopback only. */
export function createControl(parts: ControlParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const reply = await replyTo(parts, request);
    send(response, { status: reply.status, text: reply.body === undefined ? undefined : JSON.stringify(reply.body) });
  };
}

async function replyTo(parts: ControlParts, request: IncomingMessage): Promise<Reply> {
  try {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const [noun = '', ...rest] = url.pathname.split('/').slice(2).map(decodeURIComponent);
    const handle = handlers[`${request.method ?? 'GET'} ${noun}`];
    if (handle === undefined) throw notFound();
    settle(parts.cloud);
    return handle({ ...parts, url, rest, body: fieldsOf(parseJson(await readBody(request))) });
  } catch (error) {
    if (error instanceof Refusal) return ok({ id: error.id, message: error.message }, error.status);
    return ok({ id: 'server_error', message: String(error) }, 500);
  }
}

const handlers: Readonly<Record<string, (request: ControlRequest) => Reply>> = {
  'GET calls': ({ log, url }) =>
    ok({ calls: log.select({ since: Number(url.searchParams.get('since') ?? 0), writes: url.searchParams.get('writes') === '1' }) }),
  'DELETE calls': ({ log }) => {
    log.clear();
    return noContent;
  },
  'GET state': ({ cloud }) => ok(stateOf(cloud)),
  'POST droplets': ({ cloud, body }) => {
    const { name, region } = { name: required(body, 'name'), region: required(body, 'region') };
    const more = { tags: texts(body, 'tags'), ipv6: flag(body, 'ipv6') };
    return ok({ droplet: placeDroplet(cloud, { id: integer(body, 'id'), name, region, ...more }) }, 201);
  },
  'DELETE droplets': ({ cloud, rest }) => {
    removeDroplet(cloud, Number(rest[0]));
    return noContent;
  },
  'POST reserved_ips': (request) => (request.rest[1] === 'move' ? move(request) : addAddress(request)),
  'POST faults': ({ faults, body }) => {
    const handle = faults.add(parseFault(body));
    return ok({ fault: { id: handle.id, ...body, hits: handle.hits } }, 201);
  },
  'GET faults': ({ faults, rest }) => {
    if (rest[0] === undefined) return ok({ faults: faults.list().map(({ id, spec, hits }) => ({ id, ...spec, hits })) });
    const fault = faults.find(Number(rest[0]));
    if (fault === undefined) throw notFound();
    return ok({ fault: { id: fault.id, ...fault.spec, hits: fault.hits } });
  },
  'DELETE faults': ({ faults, rest }) => {
    if (rest[0] === undefined) faults.clear();
    else if (!faults.remove(Number(rest[0]))) throw notFound();
    return noContent;
  },
};

function required(body: Fields, name: string): string {
  const value = text(body, name);
  if (value === undefined) throw badRequest(`${name} is required.`);
  return value;
}

/** A droplet id under either spelling; null for none. */
function dropletIn(body: Fields): number | null {
  return integer(body, 'dropletId') ?? integer(body, 'droplet_id') ?? null;
}

function addAddress({ cloud, body }: ControlRequest): Reply {
  const ip = text(body, 'ip');
  const family = integer(body, 'family') === 6 ? 6 : 4;
  const address = placeAddress(cloud, { ip, region: required(body, 'region'), family, dropletId: dropletIn(body) });
  return ok({ reserved_ip: address }, 201);
}

function move({ cloud, rest, body }: ControlRequest): Reply {
  moveByHand(cloud, rest[0] ?? '', dropletIn(body));
  return ok({ reserved_ip: cloud.reservedIPs.get(rest[0] ?? '') });
}

/** All of the account, with the history of every address. */
function stateOf(cloud: Cloud): Record<string, unknown> {
  return {
    now: cloud.now(),
    droplets: [...cloud.droplets.values()],
    reserved_ips: [...cloud.reservedIPs.values()],
    deleted_reserved_ips: cloud.deletedIPs,
    actions: [...cloud.actions.values()],
    domains: [...cloud.domains.values()].map((domain) => ({ ...domain, records: [...domain.records.values()] })),
    firewalls: [...cloud.firewalls.values()],
  };
}
