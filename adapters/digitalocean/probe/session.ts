import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Call } from '../../../actors/ports/provider.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import { type ErrorKind, type Fields, fieldsOf } from '../../../machines/model/types.ts';
import type { Heard } from '../../http/exchange.ts';
import { ApiRefusal, createRequestLayer } from '../gaps.ts';
import { createDigitalOceanProvider, type DigitalOceanOptions } from '../provider.ts';

/** It cannot continue: nothing responds, the token is refused, or the user interrupted it. */
export class CannotAsk extends Error {}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export type Account = Pick<DigitalOceanOptions, 'token' | 'userAgent' | 'url'>;

/** The number of requests is limited by the callers; an operator with the same token has its own budget. */
const UNLIMITED = { pay: async () => 0, observe: () => undefined, close: async () => undefined };
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export const READ: Call = { purpose: 'verify' };
export const WRITE: Call = { purpose: 'failover' };

/** One run: the adapter as in the operator, its request layer for other reads, and every response received by both, oldest first. */
export type Session = ReturnType<typeof openSession>;

/** `isStopping` returns whether the user interrupted it. */
export function openSession(account: Account, clock: Clock, isStopping: () => boolean) {
  const heard: Heard[] = [];
  const options = { ...account, budget: UNLIMITED, log: SILENT, heard: (each: Heard) => void heard.push(each) };
  return { provider: createDigitalOceanProvider(options), layer: createRequestLayer(options), heard, clock, isStopping };
}

/** The result or the error of `run`: one of the two is null. @throws CannotAsk when any further request would be refused, too */
export async function attempt<T>({ isStopping }: Session, run: () => Promise<T>) {
  if (isStopping()) throw new CannotAsk('it was interrupted');
  try {
    return { value: await run(), error: null } as const;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (error instanceof ApiRefusal && error.status === 401) throw new CannotAsk(`the API refuses the token: ${error.message}`);
    if (error.kind === 'RateLimited') throw new CannotAsk(`the requests that the API allows are spent: ${error.message}`);
    return { value: null, error } as const;
  }
}

/** One read by its path below /v2. @throws ProviderError */
export const read = ({ layer }: Session, path: string): Promise<Fields> =>
  layer.verb(`read ${path}`, READ, () => layer.get(path).then(fieldsOf));

/** The same, or its error. @throws CannotAsk */
export const ask = (session: Session, path: string) => attempt(session, () => read(session, path));

/** Undefined for what does not exist. */
export function unlessGone(error: unknown): undefined {
  if (!(error instanceof ProviderError) || error.kind !== 'NotFound') throw error;
}

/** Transient errors. */
const PASSING: readonly ErrorKind[] = ['InProgress', 'Unavailable', 'RateLimited', 'Conflict'];

export const pause = ({ clock }: Session, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

/** The result of `run` once it is not false. @throws ProviderError that is not transient, or the last one at the timeout; CannotAsk when interrupted */
export async function insist<T>(session: Session, waitMs: number, run: () => Promise<T | false>): Promise<T> {
  const { clock, isStopping } = session;
  const deadline = clock.monotonic() + waitMs;
  for (let pauseMs = 150; ; pauseMs = Math.min(pauseMs * 1.2, 2000)) {
    if (isStopping()) throw new CannotAsk('it was interrupted');
    // Even if this process was delayed, it tries once more after the timeout.
    const isLast = clock.monotonic() >= deadline;
    let trouble = new ProviderError('Unavailable', `it did not show within ${Math.round(waitMs / 1000)} s`);
    try {
      const value = await run();
      if (value !== false) return value;
    } catch (error) {
      if (!(error instanceof ProviderError) || !PASSING.includes(error.kind)) throw error;
      trouble = error;
    }
    if (isLast) throw trouble;
    await pause(session, Math.max(pauseMs, Math.min(trouble.retryAfterMs ?? 0, waitMs)));
  }
}
