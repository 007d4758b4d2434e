import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

// In a thread of its own, which waits for nothing that the fuzzer does. As the kubelet asks: every time on a new connection, from another address than strangers.
export interface Took {
  /** Ms; null for one that was not answered. */
  readonly probe: number | null;
  /** The same asked of a process that has nothing else to do: what the machine itself takes. */
  readonly control: number | null;
}

const EVERY_MS = 50;
/** On a machine that is busy with other tests an answer takes as long as it takes: how long is told, and one that never comes is a defect. */
const PATIENCE_MS = 30_000;

const asked = (url: string): Promise<number | null> =>
  new Promise((resolve) => {
    const from = performance.now();
    const call = get(url, { agent: false, localAddress: '127.0.0.2', timeout: PATIENCE_MS }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode === 200 ? performance.now() - from : null));
    });
    call.on('timeout', () => call.destroy());
    call.on('error', () => resolve(null));
  });

const state = { isOver: false };
parentPort?.once('message', () => {
  state.isOver = true;
});
const { probed, control } = workerData as { readonly probed: string; readonly control: string };
const took: Took[] = [];
while (!state.isOver) {
  took.push({ probe: await asked(probed), control: await asked(control) });
  await sleep(EVERY_MS);
}
parentPort?.postMessage(took);
