import type { History } from './history.ts';
import { createdOnce } from './rule-created.ts';
import { movesExplained } from './rule-moves.ts';
import { nobodyStalls } from './rule-stalls.ts';
import { statusKept } from './rule-status.ts';
import { statusTrue } from './rule-truth.ts';

/** What must hold of an upgrade and the way back, whoever leads. Each answers what went wrong, in words; nothing for a sound history. */
export const RULES: Readonly<Record<string, (history: History) => readonly string[]>> = {
  'nothing moves that need not': movesExplained,
  'nothing is created twice': createdOnce,
  'no status is lost': statusKept,
  'no status is untrue': statusTrue,
  'nobody stalls': nobodyStalls,
};
