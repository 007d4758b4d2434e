import type { History, Step } from './history.ts';

/** Answers what a history breaks; empty for nothing. */
export type Play = (history: History) => Promise<readonly string[]>;

interface ShrinkOptions {
  /** How many histories are played at most. */
  readonly tries: number;
  /** Nothing more is tried once it answers true. */
  readonly isOver?: () => boolean;
}

/** What is the same in all histories that break the same: the rule, or how it ended. */
const ruleOf = (text: string): string => text.split(':', 1)[0] ?? '';

/** Makes a history that breaks something smaller, as long as it breaks the same: fewer steps, fewer domains, simpler numbers. */
export async function shrink(
  history: History,
  broken: readonly string[],
  play: Play,
  { tries, isOver = () => false }: ShrinkOptions,
): Promise<History> {
  const rules = new Set(broken.map(ruleOf));
  let best = history;
  let left = tries;
  const isTaken = async (candidate: History): Promise<boolean> => {
    if (left <= 0 || isOver()) return false;
    left -= 1;
    const isSame = (await play(candidate)).some((text) => rules.has(ruleOf(text)));
    if (isSame) best = candidate;
    return isSame;
  };
  for (let before: History | null = null; before !== best && left > 0; ) {
    before = best;
    await fewerSteps(() => best, isTaken);
    for (const simpler of SIMPLER) {
      const candidate = simpler(best);
      if (candidate) await isTaken(candidate);
    }
    for (let each = 0; each < best.steps.length; each += 1) await sooner(best, each, isTaken);
  }
  return best;
}

/** Takes out as many steps at once as can be, then fewer. */
async function fewerSteps(best: () => History, isTaken: (candidate: History) => Promise<boolean>): Promise<void> {
  for (let size = Math.ceil(best().steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best().steps.length; ) {
      const { steps, ...world } = best();
      if (!(await isTaken({ ...world, steps: without(steps, from, size) }))) from += size;
    }
  }
}

/** What comes after goes on at the same moment. */
const without = (steps: readonly Step[], from: number, size: number): readonly Step[] => {
  const gone = steps.slice(from, from + size).reduce((sum, { afterMs }) => sum + afterMs, 0);
  return [
    ...steps.slice(0, from),
    ...steps.slice(from + size).map((step, each) => (each === 0 ? { ...step, afterMs: step.afterMs + gone } : step)),
  ];
};

async function sooner({ steps, ...world }: History, each: number, isTaken: (candidate: History) => Promise<boolean>): Promise<void> {
  const step = steps[each];
  if (!step) return;
  const rounded = [
    0,
    Math.round(step.afterMs / 10_000) * 10_000,
    Math.round(step.afterMs / 1_000) * 1_000,
    Math.round(step.afterMs / 100) * 100,
  ];
  for (const afterMs of rounded) {
    if (afterMs === step.afterMs) return;
    if (await isTaken({ ...world, steps: steps.with(each, { ...step, afterMs }) })) return;
  }
}

const drops =
  (topic: 'pools' | 'names' | 'routed' | 'vips' | 'virtualIPs', ...domains: readonly string[]) =>
  (history: History): History | null => {
    if (!history[topic]) return null;
    const { [topic]: _, ...rest } = history;
    return { ...rest, steps: rest.steps.filter((step) => !domains.includes(step.in)) };
  };
const sets =
  <K extends keyof History>(field: K, value: NonNullable<History[K]>) =>
  (history: History): History | null =>
    history[field] === undefined || JSON.stringify(history[field]) === JSON.stringify(value) ? null : { ...history, [field]: value };

/** Each makes one thing simpler; null where it is so already. */
const SIMPLER: readonly ((history: History) => History | null)[] = [
  drops('virtualIPs', 'virtualIPs'),
  drops('vips', 'vips'),
  drops('names', 'names'),
  drops('routed', 'routed', 'policies', 'services', 'firewalls', 'jobs'),
  drops('pools', 'pools'),
  ({ routed, ...history }) => {
    if (!routed?.jobs) return null;
    const { jobs: _, ...rest } = routed;
    return { ...history, routed: rest, steps: history.steps.filter((step) => step.in !== 'jobs') };
  },
  ({ api, vips, virtualIPs, ...rest }) =>
    api && !vips && !virtualIPs ? { ...rest, steps: rest.steps.filter((step) => step.in !== 'api') } : null,
  ({ away, ...rest }) => (away === undefined ? null : rest),
  ({ editLooks, ...rest }) => (editLooks === undefined ? null : rest),
  sets('restarts', true),
  sets('perNode', 1),
  sets('callMs', [20, 20]),
  sets('actionMs', [300, 300]),
  sets('firewallMs', [0, 0]),
  sets('holders', [null, null, null, null]),
  sets('nodes', 2),
  sets('nodes', 3),
  (history) => (history.pools && history.pools.length > 1 ? { ...history, pools: history.pools.slice(0, 1) } : null),
  ({ pools, ...history }) => (pools?.some(({ rules }) => rules) ? { ...history, pools: pools.map(({ rules: _, ...pool }) => pool) } : null),
];
