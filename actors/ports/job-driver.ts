import type { Fence, Json } from '../ports.ts';

/** What a Job of a class is asked to do. */
export type JobAction = 'find' | 'create' | 'assign' | 'delete' | 'open' | 'prune';

export interface JobRequest {
  readonly purpose: 'updateRoutedIP' | 'updateFirewall';
  readonly action: JobAction;
  /** What no two live Jobs may be about: the uid of a RoutedIP, or a firewall. */
  readonly subject: string;
  /** Labels of the Job: namespace, name and uid of the RoutedIP; null for a firewall that many share. */
  readonly routedIP: { readonly namespace: string; readonly name: string; readonly uid: string } | null;
  /** The variables of the contract that depend on the request, by name. */
  readonly env: Readonly<Record<string, string>>;
  /** What `request.json` holds; null for an empty one. */
  readonly request: Json | null;
  readonly epoch: number;
  /** Counts tries of the same request: a try has a Job of its own. */
  readonly attempt: string;
}

/** What the container said at its end. */
export interface JobMessage {
  readonly address?: string;
  readonly providerID?: string;
  readonly message?: string;
}

export type JobState =
  | { readonly kind: 'running'; readonly job: string }
  /** Another Job about the same subject is alive: it is waited for. */
  | { readonly kind: 'busy'; readonly job: string }
  | { readonly kind: 'succeeded'; readonly job: string; readonly message: JobMessage }
  /** `exitCode` null when no container ended by itself: a deadline, an image that could not be pulled. */
  | { readonly kind: 'failed'; readonly job: string; readonly exitCode: number | null; readonly text: string }
  /** It was there and is not any more: what it did is unknown. */
  | { readonly kind: 'vanished'; readonly job: string };

/** Runs the Jobs of one class. */
export interface JobDriver {
  /** Jobs find, create, assign and delete addresses. */
  readonly addresses: boolean;
  /** Jobs open and prune the firewall. */
  readonly firewalls: boolean;
  /** Creates the Job of the request, or adopts it when it is there; `known` names the one that an earlier call answered. @throws ProviderError | Fenced | Unreachable */
  run(request: JobRequest, known: string | null, fence: Fence): Promise<JobState>;
  /** Deletes a Job that has ended, with its Pods. One that is gone counts as deleted. @throws ProviderError */
  clear(job: string): Promise<void>;
}
