import type { Log } from '../actors/ports/observers.ts';
import type { Clock } from '../actors/ports/records.ts';
import type { Options } from '../adapters/cli/options.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import { tokenAccess } from '../adapters/kubernetes/client/token-access.ts';
import type { startTelemetryServer } from '../adapters/telemetry/server.ts';

type Gate = Pick<Parameters<typeof startTelemetryServer>[0], 'gate'>;

/** Access to /metrics, as set on the command line. */
export function metricsGate({ metricsAuth }: Options, connection: Connection, clock: Clock, log: Log): Gate {
  if (metricsAuth === 'none') return {};
  const onTrouble = (message: string) => log.warn('cannot tell who asks for metrics', { error: message });
  return { gate: tokenAccess({ connection, clock, path: '/metrics', onTrouble }) };
}
