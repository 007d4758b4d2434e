import { Unreachable } from '../../actors/errors.ts';
import type { OperatorProcess, World } from './world.ts';

export const leading = (world: World): readonly OperatorProcess[] => world.processes.filter(({ supervisor }) => supervisor.leading);

/** This process reaches neither records nor queues. */
export const cutOff = ({ store, freeze }: OperatorProcess): void => {
  store.cut();
  freeze();
};

/** The store goes away again, `left` times, when a term is to be opened in it. For processes that are started from now on. */
export const refuseTerms = (world: World): { left: number } => {
  const refusals = { left: 0 };
  const { connect } = world.store;
  world.store.connect = () => {
    const store = connect();
    const openTerm = (term: number): Promise<boolean> => {
      if (refusals.left === 0) return store.openTerm(term);
      refusals.left -= 1;
      return Promise.reject(new Unreachable('gone again'));
    };
    return { ...store, openTerm };
  };
  return refusals;
};
