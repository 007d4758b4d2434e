import type { KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';
import type { User } from '../users.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

/** A write that is about to happen. */
export interface Attributes {
  operation: Operation;
  resource: Resource;
  /** As it would be stored; null for a deletion. */
  object: KubeObject | null;
  /** As it is stored; null for a creation. */
  old: KubeObject | null;
}

/** How it was asked for. */
export interface Asked {
  user?: User | undefined;
  subresource?: string | undefined;
  dryRun?: boolean;
  warnings?: string[];
}

/** @throws ApiError when the write is not admitted. */
export type AdmissionCheck = (attributes: Attributes, asked: Asked) => void;
