import type { Labels, Requirement } from '../../../machines/model/selector.ts';

/** Indexes selections by a label that all selected objects must have: a change of one object affects few of thousands of selections. */
export class LabelIndex<S> {
  /** By key and value of the label. */
  readonly #byLabel = new Map<string, Map<string, Set<S>>>();
  /** Selections that require no such label. */
  readonly #others = new Set<S>();

  add(requirements: readonly Requirement[], selection: S): void {
    for (const set of this.#places(requirements)) set.add(selection);
  }

  delete(requirements: readonly Requirement[], selection: S): void {
    for (const set of this.#places(requirements)) set.delete(selection);
    const { key, values } = labelOf(requirements) ?? { key: '', values: [] };
    const byValue = this.#byLabel.get(key);
    for (const value of values) if (byValue?.get(value)?.size === 0) byValue.delete(value);
    if (byValue?.size === 0) this.#byLabel.delete(key);
  }

  /** All selections that may match an object with these labels. */
  candidates(labels: Labels): readonly S[] {
    const labelled = Object.entries(labels).flatMap(([key, value]) => [...(this.#byLabel.get(key)?.get(value) ?? [])]);
    return [...this.#others, ...labelled];
  }

  #places(requirements: readonly Requirement[]): readonly Set<S>[] {
    const label = labelOf(requirements);
    if (label === null) return [this.#others];
    const byValue = this.#byLabel.get(label.key) ?? new Map<string, Set<S>>();
    this.#byLabel.set(label.key, byValue);
    return [...new Set(label.values)].map((value) => {
      const set = byValue.get(value) ?? new Set();
      byValue.set(value, set);
      return set;
    });
  }
}

/** A label that every matching object has; null when the requirements name none. */
export const labelOf = (requirements: readonly Requirement[]): Requirement | null =>
  requirements.find(({ operator }) => operator === 'in') ?? null;
