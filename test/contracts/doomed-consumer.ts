// A process that consumes a queue, keeps progress of each job and gets no further: the suite kills it. Arguments: Redis URL, prefix, queue, lock ms.
import { bullQueues } from '../../adapters/bullmq/queues.ts';
import { patientClient } from '../../adapters/redis/client.ts';
import { redisLink } from '../../adapters/redis/link.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { PATIENCE_MS } from '../support/wait-for.ts';

const [url = '', prefix = '', queue = '', lockDurationMs = ''] = process.argv.slice(2);

bullQueues({
  link: redisLink({ url, commandTimeoutMs: PATIENCE_MS }),
  connectPatient: () => patientClient({ url }),
  prefix,
  clock: systemClock(),
  lockDurationMs: Number(lockDurationMs),
  stalledIntervalMs: 300,
})
  .queue(queue)
  .consume(async ({ id, keep }) => {
    await keep('half way');
    process.stdout.write(`kept ${id}\n`);
    return new Promise(() => undefined);
  }, 10);
