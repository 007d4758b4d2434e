import type { Clock, Log } from '../actors/ports.ts';
import type { Connection } from '../adapters/kubernetes/connection.ts';
import { clusterUid } from '../adapters/kubernetes/identity.ts';

interface Waiting {
  readonly clock: Clock;
  readonly log: Log;
  readonly stopping: Promise<void>;
  /** Told what the API server lacks, after each try. */
  readonly waitsFor: (what: string) => void;
}

/** The operator was asked to stop before it ran. */
export class StoppedEarly extends Error {}

/** Names this cluster's keys in a Redis that several clusters may share: as asked, else by the cluster's UID. Waits for the API server as long as it
 *  takes. @throws StoppedEarly */
export async function redisPrefix(
  asked: string | undefined,
  connection: Connection,
  { clock, log, stopping, waitsFor }: Waiting,
): Promise<string> {
  if (asked) return `{${asked}}`;
  let isStopping = false;
  void stopping.then(() => {
    isStopping = true;
  });
  for (let attempt = 1; !isStopping; attempt += 1) {
    try {
      return `{${await clusterUid(connection)}}`;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      waitsFor(message);
      log.warn('the API server cannot be used yet', { attempt, error: message });
      await Promise.race([stopping, new Promise<void>((resolve) => clock.after(Math.min(500 * attempt, 10_000), resolve))]);
    }
  }
  throw new StoppedEarly('stopped before the API server answered');
}
