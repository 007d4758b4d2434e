import type { Finding } from '../../machines/model/types.ts';
import type { Fence } from './fence.ts';
import type { Json } from './records.ts';

/** What a Job of a class is asked to do. */
export type JobAction = 'find' | 'create' | 'assign' | 'delete' | 'open' | 'prune';

export interface JobRequest {
  readonly purpose: 'updateRoutedIP' | 'updateFirewall';
  readonly action: JobAction;
  /** What no two live Jobs may be about, beside the address that `env` names: the uid of a RoutedIP, or a firewall. */
  readonly subject: string;
  /** Labels of the Job: namespace, name and uid of the RoutedIP; null for a firewall that many share. */
  readonly routedIP: { readonly namespace: string; readonly name: string; readonly uid: string } | null;
  /** The variables of the contract that depend on the request, by name. */
  readonly env: Readonly<Record<string, string>>;
  /** What `request.json` holds; null for an empty one. */
  readonly request: Json | null;
  readonly epoch: number;
  /** Tells tries of the same request apart: a try has a Job of its own, and the same try has the same one on whatever process. */
  readonly attempt: string;
}

/** What the container said at its end. */
export interface JobMessage {
  /** Empty when the container says that there is none. */
  readonly address?: string;
  readonly providerID?: string;
  readonly message?: string;
}

export type JobState =
  /** `waits`: why no container of the Job begins, in Kubernetes' words; absent when nothing is wrong with it. */
  | { readonly kind: 'running'; readonly job: string; readonly waits?: Finding }
  /** Another Job about the same subject or address, or a Pod that such a Job left behind, is alive: it is waited for. */
  | { readonly kind: 'busy'; readonly job: string; readonly waits?: Finding }
  | { readonly kind: 'succeeded'; readonly job: string; readonly message: JobMessage }
  /** `exitCode` null when no container ended by itself: a deadline, an image that could not be pulled. `ran` false when surely none began either. */
  | { readonly kind: 'failed'; readonly job: string; readonly exitCode: number | null; readonly ran: boolean; readonly text: string }
  /** It was there and is not any more: what it did is unknown. */
  | { readonly kind: 'vanished'; readonly job: string };

/** Runs the Jobs of one class. */
export interface JobDriver {
  /** Jobs find, create, assign and delete addresses. */
  readonly addresses: boolean;
  /** Jobs open and prune the firewall. */
  readonly firewalls: boolean;
  /** Creates the Job of the request, or adopts it when it is there; `known` names the one that an earlier call answered. May be asked as often as one likes:
   *  looking costs less than one request a call. @throws ProviderError | Fenced | Unreachable */
  run(request: JobRequest, known: string | null, fence: Fence): Promise<JobState>;
  /** Looks at the Job of the request and creates none; null when there is none. Of a Job that creates this means that there never was one, or that it was
   *  cleared: others cannot take it away, and what they deleted counts as vanished. @throws ProviderError | Unreachable */
  look(request: JobRequest): Promise<JobState | null>;
  /** Deletes a Job that has ended, with its Pods. One that is gone counts as deleted. @throws ProviderError | Unreachable */
  clear(job: string): Promise<void>;
  /** Deletes the Jobs that created for this subject, that of an address alone when one is named: what they made is known now, or is gone. @throws ProviderError | Unreachable */
  conclude(subject: string, address?: string): Promise<void>;
}
