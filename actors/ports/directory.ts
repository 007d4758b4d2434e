import type { ObjectRef } from '../../machines/model/types.ts';
import type { ProviderFacts } from '../../machines/spec/providers.ts';
import type { Provider } from './provider.ts';
import type { Json } from './records.ts';

/** A Secret that holds credentials. */
export interface SecretRef {
  readonly namespace: string;
  readonly name: string;
  /** One that is missing is no trouble. */
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

/** An account or a platform that a class or an issuer asks for. */
export interface ProviderNeed {
  /** Under which it is to be known: see `machines/model/provider-key.ts`. */
  readonly key: string;
  /** The cloud whose API is used for what no template drives; null when Jobs drive everything. */
  readonly cloud: string | null;
  /** Credentials; with none, those of the environment. */
  readonly secrets: readonly SecretRef[];
  readonly templates: JobTemplates | null;
}

/** The providers by key; those of the environment always, the others while they are needed. */
export interface ProviderDirectory {
  readonly all: Readonly<Record<string, KnownProvider>>;
  /** Puts what a class or an issuer asks for in the place of what it asked for before; null for nothing. */
  need(who: string, need: ProviderNeed | null): void;
  /** Called with a key after what stands under it has changed: its means, its facts, or that it is there. */
  onChange(listener: (key: string) => void): void;
}

/** A provider by its name: what it can do, and the means to call it, null without credentials. */
export interface KnownProvider {
  readonly facts: ProviderFacts;
  readonly provider: Provider | null;
  /** Its credentials have not been looked at yet: nobody is told of it before. */
  readonly unread?: true;
}
