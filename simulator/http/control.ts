import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Fields, fieldsOf, parseJson } from './body.ts';
import type { CallLog } from './call-log.ts';
import type { AnyEffect, Fault, Faults } from './faults.ts';
import { type EffectReaders, parseFault } from './parse-fault.ts';
import { Refusal } from './refusal.ts';
import { readBody, send } from './wire.ts';

export interface ControlRequest {
  readonly url: URL;
  /** The parts of the path after /_control/<noun>. */
  readonly rest: readonly string[];
  readonly body: Fields;
}

export interface ControlReply {
  readonly status: number;
  readonly body?: unknown;
}

/** By method and noun: `POST faults`. @throws Refusal */
export type ControlRoutes = Readonly<Record<string, (request: ControlRequest) => ControlReply | Promise<ControlReply>>>;

export const ok = (body: unknown, status = 200): ControlReply => ({ status, body });
export const done: ControlReply = { status: 204 };
export const nothingThere = (): Refusal => new Refusal(404, 'There is no such thing.');

/** Answers requests below /_control, by which another process scripts the simulator. No token: for loopback only. */
export function createControl(routes: ControlRoutes): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const { status, body } = await replyTo(routes, request);
    send(response, { status, text: body === undefined ? undefined : JSON.stringify(body) });
  };
}

async function replyTo(routes: ControlRoutes, request: IncomingMessage): Promise<ControlReply> {
  try {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const [noun = '', ...rest] = url.pathname.split('/').slice(2).map(decodeURIComponent);
    const handle = routes[`${request.method ?? 'GET'} ${noun}`];
    if (handle === undefined) throw nothingThere();
    const json = parseJson(await readBody(request));
    if (json === null) throw new Refusal(400, 'The body is no JSON.');
    return await handle({ url, rest, body: fieldsOf(json.value) });
  } catch (error) {
    if (error instanceof Refusal) return ok({ message: error.message }, error.status);
    // A pattern that does not compile.
    return ok({ message: String(error) }, error instanceof SyntaxError ? 400 : 500);
  }
}

/** The call log and the faults, which every API has. */
export function commonRoutes<E extends AnyEffect>(
  log: Pick<CallLog, 'select' | 'clear'>,
  faults: Faults<E>,
  readers: EffectReaders<E>,
): ControlRoutes {
  return {
    'GET calls': ({ url: { searchParams } }) =>
      ok({ calls: log.select({ since: Number(searchParams.get('since') ?? 0), writes: searchParams.get('writes') === '1' }) }),
    'DELETE calls': () => {
      log.clear();
      return done;
    },
    'POST faults': ({ body }) => ok({ fault: shown(faults.add(parseFault<E>(readers, body))) }, 201),
    'GET faults': ({ rest: [id] }) => {
      if (id === undefined) return ok({ faults: faults.list().map(shown) });
      const fault = faults.find(Number(id));
      if (fault === undefined) throw nothingThere();
      return ok({ fault: shown(fault) });
    },
    'DELETE faults': ({ rest: [id] }) => {
      if (id === undefined) faults.clear();
      else if (!faults.remove(Number(id))) throw nothingThere();
      return done;
    },
  };
}

const shown = ({ id, spec, hits }: Fault<AnyEffect>): Record<string, unknown> => ({ id, ...spec, hits });

/** @throws Refusal 400 without it */
export function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new Refusal(400, `${name} is required.`);
  return value;
}
