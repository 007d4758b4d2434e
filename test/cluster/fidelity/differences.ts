import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../../simulator/kubernetes/objects.ts';
import { type Leaves, MEMBER } from './answer.ts';

/** What one value is at the simulator and at the real server; undefined where it is not there. */
export interface Difference {
  readonly path: string;
  readonly ours: Json | undefined;
  readonly theirs: Json | undefined;
}

/** Differences that may be, and why. */
export interface Allowed {
  readonly reason: string;
  /** Of these requests alone: their title, or their method and path. */
  readonly at?: RegExp;
  readonly path: RegExp;
  /** It comes and goes with the second at which something is done: needed as long as there is anything that may differ so. */
  readonly byChance?: true;
  /** And only when the values are so. */
  readonly when?: (ours: Json | undefined, theirs: Json | undefined) => boolean;
}

/** All that differs, in the order of the paths. Of a member that one side has alone nothing but that is told. */
const differences = (ours: Leaves, theirs: Leaves): readonly Difference[] => {
  const found = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])]
    .sort()
    .map((path) => ({ path, ours: ours[path], theirs: theirs[path] }))
    .filter(({ ours, theirs }) => !isDeepStrictEqual(ours, theirs));
  const alone = found.filter((each) => each.ours === MEMBER || each.theirs === MEMBER).map(({ path }) => path);
  return found.filter(({ path }) => !alone.some((member) => path.length > member.length && path.startsWith(member)));
};

/** Judges differences by a list of those that are allowed, and remembers which of these were met. */
export class Judge {
  readonly #allowed: readonly Allowed[];
  readonly #met = new Set<Allowed>();

  constructor(allowed: readonly Allowed[]) {
    this.#allowed = allowed;
  }

  /** What differs between the answers to this request and nothing allows. */
  defects(request: string, ours: Leaves, theirs: Leaves): readonly Difference[] {
    const here = this.#allowed.filter(({ at }) => at?.test(request) ?? true);
    const allows = (each: Difference) => (one: Allowed) => one.path.test(each.path) && (one.when?.(each.ours, each.theirs) ?? true);
    const chances = here.filter((one) => one.byChance && !this.#met.has(one));
    for (const path of chances.length > 0 ? Object.keys(ours) : []) {
      for (const one of chances.filter(allows({ path, ours: ours[path], theirs: theirs[path] }))) this.#met.add(one);
    }
    return differences(ours, theirs).filter((each) => {
      const reasons = here.filter(allows(each));
      for (const one of reasons) this.#met.add(one);
      return reasons.length === 0;
    });
  }

  /** Reasons that no answer has needed: those differences are there no more. */
  unmet(): readonly string[] {
    return this.#allowed.filter((one) => !this.#met.has(one)).map(({ reason, path }) => `${reason} (${path})`);
  }
}
