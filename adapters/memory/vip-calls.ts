import { Fenced, ProviderError, Unreachable } from '../../actors/ports/errors.ts';
import type { Fence } from '../../actors/ports/fence.ts';
import type { Probe } from '../../actors/ports/observers.ts';
import type { Fault } from './faults.ts';
import { durationOf } from './random.ts';
import type { LoggedVipWrite, VipVerb, VipWorld } from './vip-world.ts';

/** What a call finds: nothing to do, or an atomic change of the object `on`, null for one to create. */
export type Finding<T> = { readonly answer: T } | { readonly on: object | null; readonly act: () => T };

/** The outcome of a request that arrived. */
type Arrival<T> = { readonly value: T } | { readonly error: unknown };

/** How long the operator's client waits for a response, ms. */
const DEADLINE_MS = 15_000;

const unreachable = (about: string, { kind }: Fault): Error => new Unreachable(`${about}: ${kind}`);

/** An error of the API server itself is not a refusal: the request may succeed later. */
function errorOf(about: string, fault: Fault): Error {
  if (fault.kind !== 'refuse') return unreachable(about, fault);
  const message = fault.message ?? `${about}: refused by plan`;
  return fault.error === 'Unavailable' ? new Unreachable(message, { isAnswered: true }) : new ProviderError(fault.error, message);
}

/** Performs what is found on arrival. A request that is not retried carries the version of the object that was read, and fails if that has changed. Nothing was sent if
 *  there was nothing to do. */
const arrive = <T>(entry: LoggedVipWrite, find: () => Finding<T>, read?: Finding<T>): Arrival<T> => {
  try {
    const found = read && 'answer' in read ? read : find();
    if (read && 'act' in read && 'act' in found && read.on !== found.on) throw new ProviderError('Conflict', `${entry.about} has changed`);
    entry.result = 'answer' in found ? 'unchanged' : 'done';
    return { value: 'answer' in found ? found.answer : found.act() };
  } catch (error) {
    if (error instanceof ProviderError) entry.result = error.kind;
    return { error };
  }
};

const passed = async (fence: Fence, refused: () => void): Promise<void> => {
  try {
    await fence.read();
    fence.assertFresh();
  } catch (error) {
    if (error instanceof Fenced) refused();
    throw error;
  }
};

/** One process's connection to the API server. Decision and effect of a call are atomic, as ensured by preconditions at a real server. */
export const vipCalls = (world: VipWorld, probe: Probe) => {
  const { clock, callMs = 0, random = Math.random } = world.options;
  let dead = false;
  const pause = (ms: number): Promise<void> => (ms > 0 ? new Promise((resolve) => void clock.after(ms, resolve)) : Promise.resolve());
  const travel = async (): Promise<void> => {
    await pause(durationOf(callMs, random));
    await alive();
  };
  const alive = (): Promise<void> => (dead ? new Promise(() => undefined) : Promise.resolve());
  const logged = (verb: VipVerb, about: string): LoggedVipWrite => {
    const entry = { at: clock.monotonic(), verb, about, result: 'lost' };
    world.writes.push(entry);
    return entry;
  };
  /** A failing request: `late` is its effect, if it still takes place. */
  const fail = async (entry: LoggedVipWrite, fault: Fault, late: () => void): Promise<never> => {
    if (fault.kind === 'refuse') entry.result = fault.error;
    if (fault.kind === 'loseReply') late();
    if (fault.kind === 'hang' && fault.effectAfterMs !== undefined) clock.after(fault.effectAfterMs, late);
    await pause(fault.kind === 'hang' ? DEADLINE_MS : durationOf(callMs, random));
    await alive();
    throw errorOf(`${entry.verb} ${entry.about}`, fault);
  };
  return {
    /** A request without effect. */
    read: async <T>(verb: VipVerb, about: string, find: () => T): Promise<T> => {
      await travel();
      const fault = world.faults.take(verb);
      if (fault !== null) throw errorOf(`${verb} ${about}`, fault);
      return find();
    },
    /** `find` is called when the call reads, and again when its write arrives. */
    write: async <T>(verb: VipVerb, about: string, fence: Fence, find: () => Finding<T>): Promise<T> => {
      await travel();
      const found = find();
      const fault = world.faults.take(verb);
      if ('answer' in found && fault === null) return found.answer;
      await passed(fence, () => {
        logged(verb, about).result = 'fenced';
      });
      const entry = logged(verb, about);
      if (fault !== null) return fail(entry, fault, () => void arrive(entry, find, found));
      // A request that was sent arrives even if the process dies meanwhile.
      await pause(durationOf(callMs, random));
      const arrival = arrive(entry, find);
      probe('beforeReplyRead', `${verb} ${about}`);
      await alive();
      probe('afterReply', `${verb} ${about}`);
      await alive();
      if ('error' in arrival) throw arrival.error;
      return arrival.value;
    },
    end: () => {
      dead = true;
    },
  };
};
