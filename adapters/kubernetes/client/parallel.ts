/** So much is written at once. */
const PARALLEL = 8;

/** Does all of `acts`, a few at a time, whatever happens to some. @throws AggregateError of all that failed */
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
