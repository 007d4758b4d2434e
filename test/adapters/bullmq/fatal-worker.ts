// A replica whose provider client ends the process at each deletion, as a defect or a lack of memory may: the suite starts it again. Arguments: Redis URL, prefix,
// queue. Says what it logs as an error.

import { consumeJobs, type WorkerPorts } from '../../../actors/jobs/worker.ts';
import type { Provider } from '../../../actors/ports/provider.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { bullQueues } from '../../../adapters/bullmq/queues.ts';
import { memoryProvider } from '../../../adapters/memory/provider.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { redisLink } from '../../../adapters/redis/link.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { PATIENCE_MS } from '../../support/wait-for.ts';

const [url = '', prefix = '', queue = ''] = process.argv.slice(2);

const clock = systemClock();
const silent = () => undefined;
const fatal: Provider = { ...memoryProvider(clock, { name: queue }).process(), deleteRoutedIP: () => process.exit(137) };
const ports = {
  queues: bullQueues({
    link: redisLink({ url, commandTimeoutMs: PATIENCE_MS }),
    connectPatient: () => patientClient({ url }),
    prefix,
    clock,
    lockDurationMs: 500,
    stalledIntervalMs: 100,
  }),
  clock,
  log: { debug: silent, info: silent, warn: silent, error: (message, fields) => console.log(JSON.stringify({ message, ...fields })) },
  probe: silent,
  leadership: { lease: () => ({ renewedAt: clock.monotonic(), durationMs: 15_000 }), seenTerm: () => 1 },
  settings: DEFAULT_SETTINGS,
  observers: [{ turnSaved: silent, jobGivenUp: (of) => console.log(JSON.stringify({ given: of })) }],
} satisfies Partial<WorkerPorts>;

consumeJobs(queue, fatal, ports as unknown as WorkerPorts, 10);
