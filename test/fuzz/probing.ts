import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Took } from './prober.ts';

/** Asks the operator's probe, and an idle process, until it is ended; answers what each took. `telemetry` is where the operator serves its probes. */
export async function startProbing(telemetry: string): Promise<{ end(): Promise<readonly Took[]> }> {
  const control = fork(new URL('./control.ts', import.meta.url));
  const [port] = await once(control, 'message');
  const workerData = { probed: `${telemetry}/healthz`, control: `http://127.0.0.1:${port}/` };
  const prober = new Worker(new URL('./prober.ts', import.meta.url), { workerData });
  return {
    end: async () => {
      const told = once(prober, 'message');
      prober.postMessage('over');
      const [probes] = (await told) as [readonly Took[]];
      control.disconnect();
      return probes;
    },
  };
}
