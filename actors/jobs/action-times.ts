/** How long the actions of one account take, as far as they were observed. In memory: a process that starts learns them again. */
export interface ActionTimes {
  /** Records that an action was found ended `endedMs` after it was accepted, and still running after `runningMs`: 0 where no earlier look showed that. */
  note(runningMs: number, endedMs: number): void;
  /** How long to wait before the next look at an action that was accepted `elapsedMs` ago, ms; null while too few have been observed. */
  nextLook(elapsedMs: number): number | null;
}

/** How many actions are remembered, the most recent ones. */
const REMEMBERED = 64;
const ENOUGH = 2;
/** An action that the first look finds ended may have ended at any time before: the next one is checked a little sooner. */
const SOONER = 0.93;
/** An action that ended between two looks is assumed to have ended past the middle between them: a look that is too early costs another one. */
const BETWEEN = 0.65;
/** If the first look found this many of the last actions ended, actions have become quicker. */
const QUICKER = 8;
/** Actions of nearly the same duration are checked when most of them have ended; others when a tenth, three tenths and half of them have. */
const ALIKE = { spread: 0.25, look: 0.8 };
const LOOKS: readonly number[] = [0.1, 0.3, 0.5];
/** Further looks follow in quick succession as long as an end is likely by the remembered durations: pauses are fractions of their spread and of the elapsed time. */
const QUICK = { ofSpread: 1 / 40, ofElapsed: 0.045, untilLongest: 1.5 };
/** An action that takes much longer than any before is checked the less often the longer it takes. */
const SLOW_OF_ELAPSED = 0.08;
/** Bounds of the pause between looks: however long actions take, one that fails or ends early, and a node that is lost meanwhile, is noticed within the longest pause. */
const SHORTEST_MS = 25;
const SHORTEST_OF_ELAPSED = 0.02;
const LONGEST_MS = 2_000;

export function actionTimes(): ActionTimes {
  const known: { readonly ms: number; readonly isFirst: boolean }[] = [];

  return {
    note(runningMs, endedMs) {
      if (!(endedMs > 0)) return;
      const isFirst = !(runningMs > 0);
      known.push({ ms: isFirst ? endedMs * SOONER : runningMs + (endedMs - runningMs) * BETWEEN, isFirst });
      if (known.length > REMEMBERED) known.shift();
    },
    nextLook(sinceMs) {
      if (known.length < ENOUGH) return null;
      // The clock may have been set back.
      const elapsedMs = Math.max(0, sinceMs);
      const shortest = Math.max(SHORTEST_MS, elapsedMs * SHORTEST_OF_ELAPSED);
      const isQuicker = known.length > QUICKER && known.slice(-QUICKER).every(({ isFirst }) => isFirst);
      const counted = isQuicker ? known.slice(-1) : known;
      const sorted = counted.map(({ ms }) => ms).sort((a, b) => a - b);
      const after = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
      const spread = after(0.9) - after(0.1);
      const looks = spread < ALIKE.spread * after(0.5) ? [ALIKE.look] : LOOKS;
      const due = looks.map(after).find((ms) => ms >= elapsedMs + shortest);
      if (due !== undefined) return Math.min(LONGEST_MS, due - elapsedMs);
      const isLate = elapsedMs > QUICK.untilLongest * after(0.9);
      const pause = isLate ? elapsedMs * SLOW_OF_ELAPSED : Math.min(spread * QUICK.ofSpread, elapsedMs * QUICK.ofElapsed);
      return Math.min(LONGEST_MS, Math.max(shortest, pause));
    },
  };
}
