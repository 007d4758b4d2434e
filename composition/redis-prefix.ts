import type { Log } from '../actors/ports/observers.ts';
import type { Clock } from '../actors/ports/records.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import { clusterUid } from '../adapters/kubernetes/client/identity.ts';
import { untilAnswered } from './until-answered.ts';

export interface Waiting {
  readonly clock: Clock;
  readonly log: Log;
  readonly stopping: Promise<void>;
  /** Receives what the API server lacks, after each attempt. */
  readonly waitsFor: (what: string) => void;
}

/** The operator was asked to stop before it ran. */
export class StoppedEarly extends Error {}

/** Key prefix of this cluster in a Redis that several clusters may share: as requested, else its UID. Waits for the API server without limit. @throws StoppedEarly */
export async function redisPrefix(
  asked: string | undefined,
  connection: Connection,
  { clock, log, stopping, waitsFor }: Waiting,
): Promise<string> {
  if (asked) return `{${asked}}`;
  const failed = (error: unknown, attempt: number): void => {
    const message = error instanceof Error ? error.message : String(error);
    waitsFor(message);
    log.warn('the API server cannot be used yet', { attempt, error: message });
  };
  const uid = await untilAnswered(() => clusterUid(connection), { clock, stopping, failed });
  if (uid === null) throw new StoppedEarly('stopped before the API server answered');
  return `{${uid}}`;
}
