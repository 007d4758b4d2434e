import type { ClusterRoutedIPClass } from '../crds/generated/clusterroutedipclass.ts';
import type { ObservedNode, ObservedPod, ObservedService } from '../machines/model/types.ts';
import type { ReservedIP, VipService } from '../machines/vip/objects.ts';

/** The API server as the commands use it. Errors are shown to the user as they are. */
export interface ClusterAPI {
  /** All items of a collection, over all its pages. Null where the server does not serve that kind. @throws Refused | Error */
  list(path: string, query?: Readonly<Record<string, string>>): Promise<readonly unknown[] | null>;
  /** Null for an object that does not exist. @throws Refused | Error */
  get(path: string): Promise<unknown>;
  /** Posts a review. @throws Refused | Error */
  review(path: string, body: unknown): Promise<unknown>;
  /** A merge patch; returns the resulting object. @throws Refused | Changed | Error */
  patch(path: string, body: unknown): Promise<unknown>;
}

/** The cluster as the operator observes it. @throws as ClusterAPI does */
export interface ClusterFacts {
  nodes(): Promise<readonly ObservedNode[]>;
  /** Of one namespace, null for all. */
  pods(namespace: string | null): Promise<readonly ObservedPod[]>;
  /** With its endpoints; null when there is none. */
  service(namespace: string, name: string): Promise<ObservedService | null>;
  /** The requesting user, as the server knows them; null when it does not say. */
  user(): Promise<string | null>;
  /** The spec of the ClusterRoutedIPClass of that name; null when there is none. */
  routedIPClass(name: string): Promise<ClusterRoutedIPClass['spec'] | null>;
  /** A Service as seen by an allocator that serves `loadBalancerClass` besides Services without a class; null for any other object. */
  vipService(object: unknown, served: { readonly loadBalancerClass: string | null }): VipService | null;
  /** An object of kind IP; null when it reserves no address. */
  reservedIP(object: unknown): ReservedIP | null;
}

/** The user lacks a permission; the message names verb and resource. */
export class Refused extends Error {}

/** The object was written since it was read. */
export class Changed extends Error {}

export interface Session {
  readonly api: ClusterAPI;
  readonly facts: ClusterFacts;
  /** Null for all namespaces. */
  readonly namespace: string | null;
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
  /** Where the operator serves its journal; `service` includes the port, as in a proxy path. */
  readonly journalService: { readonly namespace: string; readonly service: string };
  /** Where the operator runs: it writes its inventory there. */
  readonly operatorNamespace: string;
  /** Wall clock, ms since the epoch. */
  readonly now: number;
  /** The text of a file; `-` is the standard input. @throws Error when it cannot be read */
  readonly read: (file: string) => string;
  /** Resolves after this many ms. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Prints lines to the standard output. */
  readonly out: (lines: readonly string[]) => void;
  /** Prints a line to the standard error. */
  readonly problem: (text: string) => void;
}

/** `attention`: done, and something needs a look, or would change. Wrong use is 2, set by the command line. */
export const EXIT = { ok: 0, failed: 1, attention: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
