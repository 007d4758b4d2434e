import type { ProviderNeed } from '../../actors/ports/directory.ts';

interface Asked {
  readonly need: ProviderNeed;
  readonly by: Set<string>;
}

/** Needs by requester. The cost of a change does not depend on the number of other requesters. */
export class Needs {
  readonly #former = new Map<string, { readonly key: string; readonly text: string }>();
  /** By key, then by the need as text. */
  readonly #asked = new Map<string, Map<string, Asked>>();

  /** Replaces the need of `who`. Returns the affected keys, the former one first. */
  set(who: string, need: ProviderNeed | null): readonly string[] {
    const former = this.#former.get(who)?.key;
    this.#leave(who);
    if (need) this.#join(who, need);
    return [...new Set([former, need?.key].filter((key) => key !== undefined))];
  }

  /** The need under the key; null without requesters. Several requesters may need one account: all their Secrets are used, in the order in which they are named. */
  get(key: string): ProviderNeed | null {
    const needs = [...(this.#asked.get(key)?.values() ?? [])].map(({ need }) => need);
    const [first] = needs;
    if (!first) return null;
    const secrets = needs.flatMap((need) => need.secrets);
    const once = Map.groupBy(secrets, ({ namespace, name }) => `${namespace}/${name}`);
    return { ...first, secrets: [...once.values()].flatMap(([ref]) => ref ?? []) };
  }

  #join(who: string, need: ProviderNeed): void {
    const [key, text] = [need.key, JSON.stringify(need)];
    const under = this.#asked.get(key) ?? new Map<string, Asked>();
    const asked = under.get(text) ?? { need, by: new Set() };
    asked.by.add(who);
    this.#asked.set(key, under.set(text, asked));
    this.#former.set(who, { key, text });
  }

  #leave(who: string): void {
    const { key = '', text = '' } = this.#former.get(who) ?? {};
    this.#former.delete(who);
    const under = this.#asked.get(key);
    const by = under?.get(text)?.by;
    by?.delete(who);
    if (by?.size === 0) under?.delete(text);
    if (under?.size === 0) this.#asked.delete(key);
  }
}
