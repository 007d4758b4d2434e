import type { Budget } from '../../actors/ports/budget.ts';
import { Fenced, PartialList, ProviderError } from '../../actors/ports/errors.ts';
import type { Fence } from '../../actors/ports/fence.ts';
import type { Probe } from '../../actors/ports/observers.ts';
import type { Call, Provider, Purpose } from '../../actors/ports/provider.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { type Fault, type Faults, faultError } from './faults.ts';
import { type Duration, durationOf } from './random.ts';

/** The calls of a provider by name. */
export type Verb = Exclude<keyof Provider, 'name' | 'capabilities'>;

/** One call, in the order in which the requests were sent. */
export interface LoggedCall {
  /** When it was sent or fenced, virtual ms. */
  readonly at: number;
  readonly verb: Verb;
  readonly args: readonly unknown[];
  readonly purpose: Purpose;
  /** How it ended: `ok`, `unchanged` when there was nothing to change, the kind of the error, `partial` for an incomplete list, `lost` or
   *  `hung` without a reply; `sent` while pending, `fenced` before it was sent, `noConnection` when it could not be sent. */
  result: string;
}

export interface ProcessOptions {
  /** Called at each point of a call at which the process may die. */
  readonly probe?: Probe;
  readonly budget?: Budget;
}

/** The connection to the provider that all processes share. */
export interface Wire {
  readonly clock: Clock;
  readonly faults: Faults<Verb>;
  readonly calls: LoggedCall[];
  readonly callMs: Duration;
  readonly deadlineMs: number;
  readonly random: () => number;
  /** The call that arrives at the account at this moment; null for none. */
  arriving: LoggedCall | null;
}

/** Sends one request: `arrive` is what it does at the provider. */
export type Send = <T>(verb: Verb, args: readonly unknown[], call: Call, arrive: () => T) => Promise<T>;

const READS: ReadonlySet<Verb> = new Set<Verb>([
  'findRoutedIP',
  'listRoutedIPs',
  'findNode',
  'actionState',
  'findRoutedIPFirewall',
  'listRoutedIPFirewalls',
  'listDNSRecords',
]);

/** Results of writes for which a real provider receives no request. */
const NOT_SENT: ReadonlySet<string> = new Set(['fenced', 'noConnection', 'unchanged']);

export const isSentWrite = ({ verb, result }: LoggedCall): boolean => !READS.has(verb) && !NOT_SENT.has(result);

/** One process's connection to the provider. Once the process died its calls never settle; requests already sent still arrive. */
export const requests = (wire: Wire, { probe = () => undefined, budget }: ProcessOptions): { readonly send: Send; end(): void } => {
  const { clock, faults, calls } = wire;
  let dead = false;
  const unlessDead = (): Promise<void> => (dead ? new Promise(() => undefined) : Promise.resolve());
  const reach = (point: Parameters<Probe>[0], about: string): Promise<void> => {
    probe(point, about);
    return unlessDead();
  };
  const pay = async ({ purpose, namespaces }: Call): Promise<void> => {
    const paid = async (): Promise<number> => (await budget?.pay(purpose, 1, namespaces)) ?? 0;
    for (let wait = await paid(); wait > 0; wait = await paid()) await sleep(clock, wait);
  };
  const passFence = async (fence: Fence | undefined, about: string): Promise<void> => {
    await fence?.read();
    await reach('beforeSend', about);
  };
  const send: Send = async (verb, args, call, arrive) => {
    const { purpose, fence } = call;
    const about = `${verb} ${args.filter((arg) => typeof arg === 'string').join(' ')}`;
    const log = (result: string): LoggedCall => {
      const entry = { at: clock.monotonic(), verb, args, purpose, result };
      calls.push(entry);
      return entry;
    };
    await pay(call);
    try {
      await passFence(fence, about);
      // No await between this check and the send, so the fence is still fresh.
      fence?.assertFresh();
    } catch (error) {
      if (error instanceof Fenced) log('fenced');
      throw error;
    }
    const fault = faults.take(verb);
    const entry = log('sent');
    const arrives = (): ReturnType<typeof arrive> => {
      wire.arriving = entry;
      try {
        return arrive();
      } finally {
        wire.arriving = null;
      }
    };
    const answer = await settled(exchange(wire, fault, (met) => faultError(about, met, !READS.has(verb)), arrives));
    entry.result = resultOf(fault, answer);
    await reach('beforeReplyRead', about);
    await reach('afterReply', about);
    if (answer.kind === 'error') throw answer.error;
    return answer.value;
  };
  return {
    send,
    end: () => {
      dead = true;
    },
  };
};

const sleep = (clock: Clock, ms: number): Promise<void> =>
  ms > 0 ? new Promise((resolve) => void clock.after(ms, resolve)) : Promise.resolve();

/** Simulates the request: whether and when it arrives, and the reply. */
const exchange = async <T>(
  { clock, callMs, deadlineMs, random }: Wire,
  fault: Fault | null,
  failed: (fault: Fault) => ProviderError,
  arrive: () => T,
): Promise<T> => {
  const half = durationOf(callMs, random) / 2;
  if (fault?.kind === 'hang') {
    if (fault.effectAfterMs !== undefined) clock.after(fault.effectAfterMs, () => arriveUnheard(arrive));
    await sleep(clock, deadlineMs);
    throw failed(fault);
  }
  if (half > 0) await sleep(clock, half);
  if (fault?.kind === 'loseReply') arriveUnheard(arrive);
  if (fault?.kind === 'refuse' && fault.effectAfterMs !== undefined) clock.after(fault.effectAfterMs, () => arriveUnheard(arrive));
  if (fault !== null) throw failed(fault);
  const answer = arrive();
  if (half > 0) await sleep(clock, half);
  return answer;
};

/** The request arrives, but its outcome is lost. */
const arriveUnheard = (arrive: () => unknown): void => {
  try {
    arrive();
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
  }
};

type Answer<T> = { readonly kind: 'value'; readonly value: T } | { readonly kind: 'error'; readonly error: unknown };

const settled = <T>(promise: Promise<T>): Promise<Answer<T>> =>
  promise.then(
    (value) => ({ kind: 'value', value }),
    (error: unknown) => ({ kind: 'error', error }),
  );

const resultOf = (fault: Fault | null, answer: Answer<unknown>): string => {
  if (fault?.kind === 'hang') return 'hung';
  if (fault?.kind === 'noConnection') return 'noConnection';
  if (fault?.kind === 'loseRequest' || fault?.kind === 'loseReply') return 'lost';
  if (answer.kind === 'value') return answer.value === 'unchanged' ? 'unchanged' : 'ok';
  if (answer.error instanceof PartialList) return 'partial';
  return answer.error instanceof ProviderError ? answer.error.kind : String(answer.error);
};
