import type { Finding } from '../../machines/model/types.ts';
import type { Fence } from './fence.ts';
import type { Json } from './records.ts';

/** What a Job of a class is requested to do. */
export type JobAction = 'find' | 'create' | 'assign' | 'delete' | 'open' | 'prune';

export interface JobRequest {
  readonly purpose: 'updateRoutedIP' | 'updateFirewall';
  readonly action: JobAction;
  /** No two live Jobs may share this, nor the address that `env` names: the uid of a RoutedIP, or a firewall. */
  readonly subject: string;
  /** Labels of the Job: namespace, name and uid of the RoutedIP; null for a shared firewall. */
  readonly routedIP: { readonly namespace: string; readonly name: string; readonly uid: string } | null;
  /** The variables of the contract that depend on the request, by name. */
  readonly env: Readonly<Record<string, string>>;
  /** The content of `request.json`; null for an empty one. */
  readonly request: Json | null;
  readonly epoch: number;
  /** Distinguishes attempts at the same request: each attempt has a Job of its own, the same one on every process. */
  readonly attempt: string;
}

/** The termination message of the container. */
export interface JobMessage {
  /** Empty when the container says that there is none. */
  readonly address?: string;
  readonly providerID?: string;
  readonly message?: string;
}

export type JobState =
  /** `waits`: why no container of the Job begins, in Kubernetes' words; absent when nothing is wrong with it. */
  | { readonly kind: 'running'; readonly job: string; readonly waits?: Finding }
  /** Another Job for the same subject or address, or a Pod that such a Job left behind, is alive: it is waited for. */
  | { readonly kind: 'busy'; readonly job: string; readonly waits?: Finding }
  | { readonly kind: 'succeeded'; readonly job: string; readonly message: JobMessage }
  /** `exitCode` null when no container ended by itself: a deadline, an image that could not be pulled. `ran` false when it is certain that none began either. */
  | { readonly kind: 'failed'; readonly job: string; readonly exitCode: number | null; readonly ran: boolean; readonly text: string }
  /** It existed and no longer does: what it did is unknown. */
  | { readonly kind: 'vanished'; readonly job: string };

/** Runs the Jobs of one class. */
export interface JobDriver {
  /** Jobs find, create, assign and delete addresses. */
  readonly addresses: boolean;
  /** Jobs open and prune the firewall. */
  readonly firewalls: boolean;
  /** Creates the Job of the request, or adopts it when it exists; `known` names the one that an earlier call returned. May be called any number of times: a check costs
   *  less than one request per call. @throws ProviderError | Fenced | Unreachable */
  run(request: JobRequest, known: string | null, fence: Fence): Promise<JobState>;
  /** Reads the Job of the request and creates none; null when there is none. For a Job that creates an address this means that it never existed, or that it was cleared:
   *  others cannot remove it, and one that they deleted counts as vanished. @throws ProviderError | Unreachable */
  look(request: JobRequest): Promise<JobState | null>;
  /** Deletes a Job that has ended, with its Pods. One that is gone counts as deleted. @throws ProviderError | Unreachable */
  clear(job: string): Promise<void>;
  /** Deletes the Jobs that created for this subject, or only the one for `address` when given: what they created is known now, or is gone. @throws ProviderError |
   *  Unreachable */
  conclude(subject: string, address?: string): Promise<void>;
}
