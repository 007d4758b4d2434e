import { again, done, type JobBody } from './body.ts';

/** How long to wait after each try that failed, ms; after the last the address moves on without the mark. */
const PAUSES_MS = [200, 500, 1000];

/** Marks the node as a holder. The mark keeps Pods away, it does not make the address serve: a failover does not wait long for it, and what is missing
 *  is put on later. */
export const elect: JobBody<'elect'> = async ({ input, progress, writer }) => {
  const failures = typeof progress === 'number' ? progress : 0;
  try {
    await writer.markHolder(input.node.name, input.effect);
    return done({ marked: true });
  } catch {
    const pause = PAUSES_MS[failures];
    return pause === undefined ? done({ marked: false }) : again(pause, failures + 1);
  }
};
