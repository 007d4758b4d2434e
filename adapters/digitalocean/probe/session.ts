import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Call } from '../../../actors/ports/provider.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import { type ErrorKind, type Fields, fieldsOf } from '../../../machines/model/types.ts';
import type { Heard } from '../../http/exchange.ts';
import { ApiRefusal, createRequestLayer } from '../gaps.ts';
import { createDigitalOceanProvider, type DigitalOceanOptions } from '../provider.ts';

/** It makes no sense to go on: nobody answers, the token is refused, or a person has interrupted it. */
export class CannotAsk extends Error {}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export type Account = Pick<DigitalOceanOptions, 'token' | 'userAgent' | 'url'>;

/** What is asked is bounded by whoever asks: an operator that works with the same token keeps a budget of its own. */
const UNLIMITED = { pay: async () => 0, observe: () => undefined, close: async () => undefined };
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export const READ: Call = { purpose: 'verify' };
export const WRITE: Call = { purpose: 'failover' };

/** One run: the adapter as the operator has it, its request layer for what the adapter does not read, and every answer that both have heard, oldest first. */
export type Session = ReturnType<typeof openSession>;

/** `isStopping` says whether a person has asked it to stop. */
export function openSession(account: Account, clock: Clock, isStopping: () => boolean) {
  const heard: Heard[] = [];
  const options = { ...account, budget: UNLIMITED, log: SILENT, heard: (each: Heard) => void heard.push(each) };
  return { provider: createDigitalOceanProvider(options), layer: createRequestLayer(options), heard, clock, isStopping };
}

/** What `run` answers, or is refused with: one of the two is null. @throws CannotAsk where whatever else is asked would be refused, too */
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

/** The same, or what it was refused with. @throws CannotAsk */
export const ask = (session: Session, path: string) => attempt(session, () => read(session, path));

/** Undefined for what is not there. */
export function unlessGone(error: unknown): undefined {
  if (!(error instanceof ProviderError) || error.kind !== 'NotFound') throw error;
}

/** What may be otherwise a moment later. */
const PASSING: readonly ErrorKind[] = ['InProgress', 'Unavailable', 'RateLimited', 'Conflict'];

export const pause = ({ clock }: Session, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

/** What `run` answers, once it is not false. @throws ProviderError that does not pass, or the last one when the time is over; CannotAsk once it was interrupted */
export async function insist<T>(session: Session, waitMs: number, run: () => Promise<T | false>): Promise<T> {
  const { clock, isStopping } = session;
  const deadline = clock.monotonic() + waitMs;
  for (let pauseMs = 150; ; pauseMs = Math.min(pauseMs * 1.2, 2000)) {
    if (isStopping()) throw new CannotAsk('it was interrupted');
    // Whatever held this process up, it looks once more when the time is over.
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
