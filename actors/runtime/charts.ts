import type { AnyStateMachine } from 'xstate';
import type { JobName } from '../../machines/jobs.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { Claim } from '../ports/records.ts';

/** A chart as the runtime needs it. */
export interface Chart {
  readonly name: string;
  /** Raised when stored snapshots no longer fit; `migrate` then converts older ones. */
  readonly version: number;
  readonly machine: AnyStateMachine;
  /** An example input: every stored context has the fields of the initial context that the machine builds from it, in the same form. Absent where that does not hold. */
  readonly example?: unknown;
  /** Converts the snapshot of an older version to today's form; null makes the actor be rebuilt. */
  readonly migrate?: (snapshot: StoredSnapshot, version: number) => StoredSnapshot | null;
  /** Nodes at a provider that an actor in this context holds, and what it holds exclusively, whatever the limit per node. */
  readonly claims: (context: never) => {
    readonly provider: string;
    readonly nodes: readonly string[];
    readonly limit: number;
    readonly alone?: readonly string[];
    /** What it holds exclusively at another provider, or at the same one. */
    readonly elsewhere?: { readonly provider: string; readonly nodes: readonly string[] };
  };
  /** The title of a job of this chart in dashboards, the queue it runs on, and its priority. */
  readonly job: (job: JobName, input: never) => { readonly title: string; readonly queue: string; readonly priority: number };
}

/** An input from which any of our machines can begin. */
export const EXAMPLE = {
  id: '',
  pool: '',
  ref: { kind: '', namespace: '', name: '', uid: '' },
  since: 0,
  provider: '',
  address: '',
  origin: 'Found',
  observed: null,
  zone: '',
  firewall: '',
};

export interface StoredSnapshot {
  readonly value: unknown;
  readonly context: unknown;
}

export type Charts = Readonly<Record<string, Chart>>;

/** All claims of an actor in this context. */
export function claimsOf(chart: Chart, owner: ActorId, context: unknown): readonly Claim[] {
  const { provider, nodes, limit, alone = [], elsewhere = { provider: '', nodes: [] } } = chart.claims(context as never);
  return [
    ...elsewhere.nodes.map((node) => ({ provider: elsewhere.provider, node, owner, limit: 1 })),
    ...nodes.map((node) => ({ provider, node, owner, limit })),
    ...alone.map((node) => ({ provider, node, owner, limit: 1 })),
  ].filter((claim) => claim.provider !== '');
}

/** `%` and `:` are encoded: BullMQ refuses ids with a colon, and IPv6 addresses are full of them. */
const encode = (actor: ActorId): string => actor.replaceAll('%', '%25').replaceAll(':', '%3A');

/** The id of a command: never repeats, because no actor writes one version twice within a term. */
export const keyOf = (actor: ActorId, term: number, version: number, index: number): string =>
  `${encode(actor)}.${term}.${version}.${index}`;

/** Whether the command was issued by this actor. */
export const isOf = (actor: ActorId, id: string): boolean => id.split('.').slice(0, -3).join('.') === encode(actor);

/** The term under which a command was decided, its version and its index. */
const partsOf = (id: string): readonly number[] => id.split('.').slice(-3).map(Number);

/** The term under which a command was decided. */
export const termOf = (id: string): number => partsOf(id)[0] ?? 0;

/** Orders the command ids of one actor by age. */
export function isNewer(id: string, than: string): boolean {
  const [a, b] = [partsOf(id), partsOf(than)];
  for (const index of [0, 1, 2]) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
