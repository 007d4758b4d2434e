import type { Log } from '../actors/ports/observers.ts';

/** The first SIGTERM or SIGINT, or other named signal, requests a clean stop; the second one ends the process at once. */
export function stopSignal(
  log: Log,
  more: readonly NodeJS.Signals[] = [],
): { readonly requested: Promise<void>; readonly forget: () => void } {
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
  const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', ...more];
  for (const each of signals) process.on(each, onSignal);
  const forget = (): void => {
    for (const each of signals) process.off(each, onSignal);
  };
  return { requested, forget };
}
