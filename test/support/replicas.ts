import { Unreachable } from '../../actors/ports/errors.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { ingress } from './setups.ts';
import { type OperatorProcess, PROVIDER, type World } from './world.ts';

export const leading = (world: World): readonly OperatorProcess[] => world.processes.filter(({ supervisor }) => supervisor.leading);

/** Two processes, the first of which leads, and a pool of these addresses, which serve, with spare nodes. */
export async function twoServing(
  world: World,
  addresses: Readonly<Record<string, string>>,
): Promise<{ readonly ref: ObjectRef; readonly first: OperatorProcess; readonly second: OperatorProcess }> {
  const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses });
  const [first, second] = [await world.start(), await world.start()];
  await world.untilStates(ref, Object.fromEntries(Object.keys(addresses).map((address) => [address, 'active'])));
  await world.clock.advance(20_000);
  if (leading(world).length !== 1 || !first.supervisor.leading) throw new Error('the first process does not lead alone');
  return { ref, first, second };
}

/** This process reaches neither records nor queues. */
export const cutOff = ({ store, freeze }: OperatorProcess): void => {
  store.cut();
  freeze();
};

/** Calls by which a term is opened and its records are taken over. */
export type Opening = 'openTerm' | 'drop' | 'resetClaims';

/** The store goes away again, `left` times, at this call. For processes that are started from now on. */
export const refuseCalls = (world: World, call: Opening): { left: number } => {
  const refusals = { left: 0 };
  const { connect } = world.store;
  world.store.connect = () => {
    const store = connect();
    const run = store[call] as (...given: readonly unknown[]) => Promise<unknown>;
    const refused = (...given: readonly unknown[]): Promise<unknown> => {
      if (refusals.left === 0) return run(...given);
      refusals.left -= 1;
      return Promise.reject(new Unreachable('gone again'));
    };
    return { ...store, [call]: refused };
  };
  return refusals;
};

/** A process that leaves the jobs that are in Redis to others. */
export async function withoutHands(
  world: World,
  start: () => Promise<OperatorProcess>,
  provider: string = PROVIDER,
): Promise<OperatorProcess> {
  const { connect } = world.queues;
  world.queues.connect = () => {
    const queues = connect();
    const idle = { close: async () => undefined };
    return {
      ...queues,
      queue: (name) => ({ ...queues.queue(name), ...(name === provider && { consume: () => idle }) }),
    };
  };
  const started = await start();
  world.queues.connect = connect;
  return started;
}

/** Has `around` write each term on the Lease, of processes that are started from now on. */
export const aroundTermWrites = (world: World, around: (write: () => Promise<void>) => Promise<void>): void => {
  const { contender } = world.lease;
  world.lease.contender = (name) => {
    const lease = contender(name);
    return { ...lease, writeTerm: (term, server) => around(() => lease.writeTerm(term, server)) };
  };
};

/** From `hold` on no term is written on the Lease until `release`. For processes that are started from now on. */
export const holdTermWrites = (world: World): { readonly hold: () => void; readonly release: () => void } => {
  let held: Promise<void> | null = null;
  let open = (): void => undefined;
  aroundTermWrites(world, async (write) => {
    await held;
    await write();
  });
  return {
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      [held, open] = [promise, resolve];
    },
    release: () => {
      held = null;
      open();
    },
  };
};
