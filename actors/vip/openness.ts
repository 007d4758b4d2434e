import { barredBy } from '../../machines/model/namespaces.ts';
import { fieldsOf } from '../../machines/model/types.ts';
import type { Namespaces } from '../ports/namespaces.ts';
import type { ObservedVips } from './object-cache.ts';

/** Which IPGroups are open to which namespace. */
export class GroupOpenness {
  readonly #seen: Pick<ObservedVips, 'groups'>;
  readonly #namespaces: Namespaces;

  constructor(seen: Pick<ObservedVips, 'groups'>, namespaces: Namespaces) {
    this.#seen = seen;
    this.#namespaces = namespaces;
  }

  /** The names of groups closed to it, ascending. */
  barredFor(namespace: string): readonly string[] {
    return [...this.#seen.groups.keys()].filter((name) => this.why(name, namespace) !== null).sort();
  }

  /** Why the group is closed to the namespace; null when it is open, or does not exist. */
  why(group: string, namespace: string): string | null {
    const spec = this.#seen.groups.get(group)?.spec;
    return barredBy(spec, `IPGroup ${group}`, namespace, (name) => this.#namespaces.labelsOf(name));
  }

  /** The selector of a group, as text; empty for none. */
  selectorOf(group: string): string {
    return JSON.stringify(fieldsOf(this.#seen.groups.get(group)?.spec).namespaceSelector ?? '');
  }
}
