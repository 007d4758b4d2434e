import type { ObjectRef } from '../../machines/model/types.ts';
import type { ProviderFacts } from '../../machines/spec/providers.ts';
import type { Provider } from './provider.ts';
import type { Json } from './records.ts';

/** A Secret that holds credentials. */
export interface SecretRef {
  readonly namespace: string;
  readonly name: string;
  /** It may be missing. */
  readonly optional: boolean;
}

/** The templates of a class, as its spec has them: unchecked batch/v1 JobSpecs. */
export interface JobTemplates {
  /** Owns the Jobs. */
  readonly owner: ObjectRef;
  /** `spec.className`. */
  readonly className: string;
  /** Where Jobs run. */
  readonly namespace: string;
  readonly updateRoutedIP: Json | null;
  readonly updateFirewall: Json | null;
}

/** An account or a platform that a class or an issuer requests. */
export interface ProviderNeed {
  /** The key under which it is registered: see `machines/model/provider-key.ts`. */
  readonly key: string;
  /** The cloud whose API is used for everything that no template covers; null when Jobs do everything. */
  readonly cloud: string | null;
  /** Credentials; if empty, those of the environment. */
  readonly secrets: readonly SecretRef[];
  readonly templates: JobTemplates | null;
}

/** The providers by key: those of the environment always, the others while they are needed. */
export interface ProviderDirectory {
  readonly all: Readonly<Record<string, KnownProvider>>;
  /** Replaces what a class or an issuer requested before; null for nothing. */
  need(who: string, need: ProviderNeed | null): void;
  /** Called with a key after its entry has changed: its means, its facts, or whether it exists. */
  onChange(listener: (key: string) => void): void;
}

/** A provider by its name: what it can do, and the means to call it, null without credentials. */
export interface KnownProvider {
  readonly facts: ProviderFacts;
  readonly provider: Provider | null;
  /** Its credentials have not been read yet: it is not announced before that. */
  readonly unread?: true;
}
