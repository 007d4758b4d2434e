import { builtins, builtinsIn } from './builtins.ts';
import { apiVersionOf, type Resource } from './resource.ts';

const builtinsAt = (what: string): Resource[] => {
  const all = builtinsIn(what);
  if (all.length > 0) return all;
  const end = what.lastIndexOf('/');
  return builtinsIn(what.slice(0, end)).filter(({ plural }) => plural === what.slice(end + 1));
};

/** The resources served now: the built-in ones and those of established custom resource definitions. */
export class Registry {
  readonly #byPath = new Map<string, Resource>();
  /** Counts changes of what is served, so that derived documents know when they are stale. */
  generation = 0;

  constructor() {
    for (const resource of builtins()) this.add(resource);
  }

  add(resource: Resource): void {
    this.#byPath.set(`${apiVersionOf(resource)}/${resource.plural}`, resource);
    this.generation += 1;
  }

  removeKind(group: string, plural: string): void {
    for (const [path, resource] of this.#byPath) {
      if (resource.custom && resource.group === group && resource.plural === plural) this.#byPath.delete(path);
    }
    this.generation += 1;
  }

  /** Serves a built-in group and version (`batch/v1`), or one resource of it (`batch/v1/jobs`), or not any more. @throws Error for one that is not known. */
  serve(what: string, served: boolean): void {
    const resources = builtinsAt(what);
    if (resources.length === 0) throw new Error(`no built-in resources in ${what}`);
    for (const resource of resources) {
      const path = `${apiVersionOf(resource)}/${resource.plural}`;
      if (served) this.#byPath.set(path, resource);
      else this.#byPath.delete(path);
    }
    this.generation += 1;
  }

  find(apiVersion: string, plural: string): Resource | undefined {
    return this.#byPath.get(`${apiVersion}/${plural}`);
  }

  findKind(apiVersion: string, kind: string): Resource | undefined {
    return this.all().find((resource) => resource.kind === kind && apiVersionOf(resource) === apiVersion);
  }

  all(): Resource[] {
    return [...this.#byPath.values()];
  }

  inVersion(apiVersion: string): Resource[] {
    return this.all().filter((resource) => apiVersionOf(resource) === apiVersion);
  }

  /** Group names with their versions, the core group as ''. */
  groups(): Map<string, string[]> {
    const groups = new Map<string, string[]>();
    for (const { group, version } of this.#byPath.values()) {
      const versions = groups.get(group) ?? [];
      if (!versions.includes(version)) versions.push(version);
      groups.set(group, versions);
    }
    // Built-in groups come in the order of their weight, those of definitions by their names.
    const custom = new Set(this.all().flatMap(({ group, custom }) => (custom ? [group] : [])));
    const [own, others] = [[...groups].filter(([name]) => !custom.has(name)), [...groups].filter(([name]) => custom.has(name))];
    return new Map([...own, ...others.sort(([one], [other]) => (one < other ? -1 : 1))]);
  }

  /** One resource per storage, in its storage version where that is served: what the clean-up of a namespace has to go through. */
  storages(): Resource[] {
    const found = new Map<string, Resource>();
    for (const resource of this.all()) {
      if (!resource.verbs.includes('list')) continue;
      if (!found.has(resource.storage) || apiVersionOf(resource) === resource.storageVersion) found.set(resource.storage, resource);
    }
    return [...found.values()];
  }
}
