/** Number of concurrent writes. */
const PARALLEL = 8;

/** Runs all of `acts`, a few at a time, even if some fail. @throws AggregateError of all failures */
export const inParallel = async (acts: readonly (() => Promise<void>)[]): Promise<void> => {
  const errors: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let act = acts[next++]; act !== undefined; act = acts[next++]) {
      try {
        await act();
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, acts.length) }, worker));
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} of ${acts.length} writes failed`);
};
