import { isConflict, messageOf, ServerUnreachable } from './api-error.ts';

/** So often in a row a write may meet somebody else's before it is given up. */
const CONFLICTS = 5;

/** What `attempt` answers, which reads before it writes: it is made again while `isOvertaken` says of its error that somebody else has written in between.
 *  @throws any other error of `attempt` at once, and the conflict itself when there was one at each of six tries */
export const despiteConflicts = async <T>(attempt: () => Promise<T>, isOvertaken: (error: unknown) => boolean = isConflict): Promise<T> => {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isOvertaken(error) || conflicts >= CONFLICTS) throw error;
    }
  }
};

/** For a write given up although nothing is wrong with it: later it may succeed. */
export const inVain = (what: string, conflict: unknown): ServerUnreachable =>
  new ServerUnreachable(`${what}: tried in vain, last: ${messageOf(conflict)}`, { cause: conflict });
