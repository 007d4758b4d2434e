/** A chart as plain data: what the page and the diagram need of it, free of the engine. */
export interface ChartNode {
  /** Unique within the chart, parts joined by dots, for example `ip.Stable.Holding`. */
  readonly id: string;
  readonly key: string;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final';
  readonly description: string;
  /** Child in which a compound state begins. */
  readonly initial: string | null;
  readonly jobs: readonly string[];
  readonly entry: readonly string[];
  readonly transitions: readonly Transition[];
  readonly children: readonly ChartNode[];
}

export interface Transition {
  /** As people say it: `RETIRE`, `assign done`, `after coolOff`, `at once`. */
  readonly event: string;
  /** The claim that must hold; null when there is none. */
  readonly guard: string | null;
  /** True when an earlier transition on the same event was guarded, so that this one is taken only if that claim did not hold. */
  readonly otherwise: boolean;
  readonly target: string | null;
  readonly actions: readonly string[];
}

/** The chart's states from the top down, children after their parent, the root left out. */
export const statesOf = (node: ChartNode): readonly ChartNode[] => node.children.flatMap((child) => [child, ...statesOf(child)]);

/** `losesNodeAndMayMove` → `loses node and may move`. */
const words = (name: string): string => name.replaceAll(/([a-z0-9])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);

/** The claim under which a transition is taken, in words; empty when there is none. */
export const condition = ({ guard, otherwise }: Transition): string => {
  if (guard !== null) return words(guard);
  return otherwise ? 'otherwise' : '';
};
