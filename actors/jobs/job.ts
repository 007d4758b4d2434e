import type { JobInput, JobName, JobOutput, ProviderJobName } from '../../machines/jobs.ts';
import type { Address, Finding, ObjectRef } from '../../machines/model/types.ts';
import type { ClusterWriter } from '../ports/cluster.ts';
import type { Fence } from '../ports/fence.ts';
import type { Call, CallOwner, Prepaid, Provider, Purpose } from '../ports/provider.ts';
import type { Clock, Json } from '../ports/records.ts';
import type { JobSettings } from '../ports/settings.ts';
import type { GroupAddresses } from '../ports/vip.ts';
import type { AddressReader } from './address-reader.ts';

/** Poll steps of an assign while too little is known of how long assigns take, ms: about a quarter of the time so far. */
export const ASSIGN_STEPS: readonly number[] = [200, 250, 300, 300, 350, 400, 500, 600, 700, 900, 1100, 1400, 1700, 2000];

export interface JobContext<N extends JobName> {
  /** The command that is carried out: the same in every run. */
  readonly command: string;
  /** The term under which it was decided. */
  readonly term: number;
  readonly input: JobInput<N>;
  /** What the last try left, or this one has kept; null at first. */
  readonly progress: Json;
  /** Before the first try: what was left by the command that this one replaces. That may have waited for less than this one has to wait for. */
  readonly former: Json;
  /** An earlier run may have got to any point before its process died. */
  readonly rerun: boolean;
  /** An earlier run of it has waited, for a limit or for the store; absent for no. */
  readonly waited?: boolean;
  /** The store is away: the provider is asked before an address is sent elsewhere, and nothing is deleted. */
  readonly careful: boolean;
  /** How much longer others may send what was decided before, ms: until then nothing in doubt is sent. 0 where nothing is in doubt, or no one else may send. */
  readonly unsettledMs: number;
  /** Stores progress durably before anything else happens. */
  readonly keep: (progress: Json) => Promise<void>;
  readonly provider: Provider;
  readonly reader: AddressReader;
  readonly writer: ClusterWriter;
  /** Reserves addresses of IPGroups; null where none are served. */
  readonly groups: GroupAddresses | null;
  readonly fence: Fence;
  /** The object for which the job runs; null when it is for many. */
  readonly owner: CallOwner | null;
  /** The namespaces of the objects for which it runs; empty or absent for none. */
  readonly namespaces?: readonly string[];
  readonly prepaid?: Prepaid;
  /** Addresses that other objects list, request or have been assigned, as of now; none, when absent. @throws ProviderError InProgress while one is being created for
   *  another object */
  readonly named?: () => Promise<ReadonlySet<string>>;
  /** The object for which `given` may be taken off a node to make room for `wanted`; null when `given` is wanted, or the object no longer wants `wanted`. Null, when absent. */
  readonly makesRoom?: (wanted: Address, given: Address) => Promise<ObjectRef | null>;
  /** Whether the class of a deleted RoutedIP says by now that this address of it stays; no, when absent. */
  readonly retains?: (address: Address) => boolean;
  readonly clock: Clock;
  readonly settings: JobSettings;
}

export type JobResult<N extends JobName> = { readonly kind: 'done'; readonly output: JobOutput<N> } | Again;

export interface Again {
  readonly kind: 'again';
  readonly afterMs: number;
  readonly progress: Json;
  /** What it waits for from now on, for users; null when it no longer waits for anything, absent while unchanged. */
  readonly waits?: Finding | null;
}

/** One try of a job: at most one call that changes anything. Throws ProviderError, Fenced or Unreachable. */
export type JobBody<N extends JobName> = (context: JobContext<N>) => Promise<JobResult<N>>;

export type JobBodies = { readonly [N in ProviderJobName]: JobBody<N> };

export const done = <T>(output: T): { readonly kind: 'done'; readonly output: T } => ({ kind: 'done', output });
export const again = (afterMs: number, progress: Json): Again => ({
  kind: 'again',
  afterMs: Math.max(0, Math.ceil(afterMs)),
  progress,
});

type Caller = Pick<JobContext<JobName>, 'fence' | 'owner' | 'namespaces' | 'prepaid'>;

/** A call for `purpose` that changes nothing. */
export const read = ({ owner, namespaces, prepaid }: Omit<Caller, 'fence'>, purpose: Purpose): Call => ({
  purpose,
  ...(owner && { owner }),
  ...(namespaces && { namespaces }),
  ...(prepaid && { prepaid }),
});

/** A call for `purpose` that changes something: fenced. */
export const write = (caller: Caller, purpose: Purpose): Call => ({ ...read(caller, purpose), fence: caller.fence });

/** Call it before a change through a port that takes no fence: it stops what was decided under a former term, or is no longer waited for. @throws Fenced | Unreachable */
export const passFence = async ({ fence }: Pick<Caller, 'fence'>): Promise<void> => {
  await fence.read();
  fence.assertFresh();
};

/** How long to wait before poll number `polls` + 1. */
export const pollStep = (steps: readonly number[], polls: number): number => steps[Math.min(polls, steps.length - 1)] ?? 1000;
