/** What does not come soon is asked for less often, so that waiting takes little of the processor from what is waited for. */
const POLL_MS = { first: 10, growth: 1.2, most: 50 };

/** Longer than anything takes that goes well, on a machine that stands still for seconds too, ms: for limits that a test is not about. */
export const PATIENCE_MS = 30_000;

/** So much of the time between two looks counts as waiting, ms. What is more, the machine stood still, and whoever is waited for may have done so too. */
const MOST_MS = 500;

/** Waits until `holds`, asking every 10 ms at first, every 50 ms in the end. For what other processes do; what the operator does in memory has a virtual clock.
 *  @throws Error naming `what` after `deadlineMs` (default 20 s: less than a test may take, and much more than what is waited for takes on a busy
 *  machine) in which this process ran */
export const waitFor = async (what: string, holds: () => boolean | Promise<boolean>, deadlineMs = 20_000): Promise<void> => {
  let left = deadlineMs;
  let lookedAt = performance.now();
  for (let pause = POLL_MS.first; !(await holds()); pause = Math.min(pause * POLL_MS.growth, POLL_MS.most)) {
    const now = performance.now();
    left -= Math.min(now - lookedAt, MOST_MS);
    lookedAt = now;
    if (left < 0) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
};
