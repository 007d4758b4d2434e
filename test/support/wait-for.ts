const POLL_MS = 20;

/** Waits until `holds`, asking every 20 ms. For what other processes do; what the operator does in memory has a virtual clock.
 *  @throws Error naming `what` after `deadlineMs` (default 10 s) */
export const waitFor = async (what: string, holds: () => boolean | Promise<boolean>, deadlineMs = 10_000): Promise<void> => {
  const end = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
};
