// A playground in a cluster, for docs/getting-started.md: a simulated DigitalOcean, and the heartbeats of Nodes that no machine stands behind. Runs as a Pod; both are
// in its memory, so that a new Pod begins with an empty account.
import { setTimeout as wait } from 'node:timers/promises';
import { startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { told } from './account.ts';
import { Machines } from './machines.ts';

const PORT = 8080;
/** How long DigitalOcean takes to move an address, ms; drawn evenly. */
const ACTION_MS = { min: 500, max: 1_000 };
const RESERVED_IP_QUOTA = 10;
const LOOK_EVERY_MS = 1_000;

// Every Pod of the cluster reaches it: nobody is to script it there.
const cloud = await startDigitalOcean({
  host: '0.0.0.0',
  port: PORT,
  actionMs: ACTION_MS,
  reservedIPQuota: RESERVED_IP_QUOTA,
  isControlled: false,
});
const machines = new Machines(cloud);
let isStopping = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    isStopping = true;
  });
}
console.log(`a simulated DigitalOcean listens on port ${PORT}`);
let heard = 0;
while (!isStopping) {
  // An API server that does not answer is asked again: a kubelet would do the same.
  await machines.beat().catch((error: unknown) => console.log(`no heartbeat: ${error instanceof Error ? error.message : String(error)}`));
  for (const call of cloud.calls.select({ since: heard, writes: true })) {
    if (call.status === null) break;
    heard = call.n;
    console.log(told(call, machines));
  }
  await wait(LOOK_EVERY_MS);
}
machines.close();
await cloud.close();
