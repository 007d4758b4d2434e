import { isConflict, messageOf, ServerUnreachable } from './api-error.ts';

/** How many consecutive conflicts a write survives before it is given up. */
const CONFLICTS = 5;

/** The result of `attempt`, which reads before it writes. It is retried while `isOvertaken` says that its error was caused by a concurrent write.
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

/** For a write given up only because of conflicts: it may succeed later. */
export const inVain = (what: string, conflict: unknown): ServerUnreachable =>
  new ServerUnreachable(`${what}: tried in vain, last: ${messageOf(conflict)}`, { cause: conflict });
