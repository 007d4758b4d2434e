import type { Log } from '../actors/ports/observers.ts';

/** The first SIGTERM or SIGINT asks for a clean stop; the second one ends the process at once. */
export function stopSignal(log: Log): { readonly requested: Promise<void>; readonly forget: () => void } {
  let asked = false;
  let resolve = (): void => undefined;
  const requested = new Promise<void>((done) => {
    resolve = done;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(1);
    asked = true;
    log.info('was asked to stop; a second signal ends it at once', { signal });
    resolve();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return { requested, forget: () => void process.off('SIGTERM', onSignal).off('SIGINT', onSignal) };
}
