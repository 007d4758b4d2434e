/** What does not come soon is asked for less often, so that waiting takes little of the processor from what is waited for. */
const POLL_MS = { first: 10, growth: 1.2, most: 50 };

/** Waits until `holds`, asking every 10 ms at first, every 50 ms in the end. For what other processes do; what the operator does in memory has a virtual clock.
 *  @throws Error naming `what` after `deadlineMs` (default 20 s: less than a test may take, and much more than what is waited for takes on a busy machine) */
export const waitFor = async (what: string, holds: () => boolean | Promise<boolean>, deadlineMs = 20_000): Promise<void> => {
  const end = performance.now() + deadlineMs;
  for (let pause = POLL_MS.first; !(await holds()); pause = Math.min(pause * POLL_MS.growth, POLL_MS.most)) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
};
