// Preloaded into an operator process (`node --import`): once the file named by ROUTEDIP_ARMED_BY exists, the process ends itself by SIGKILL the next
// time it passes the point named by ROUTEDIP_KILL_AT. No handler runs, nothing is flushed: as if the machine had gone.
import { subscribe } from 'node:diagnostics_channel';
import { existsSync } from 'node:fs';

const { ROUTEDIP_KILL_AT: at = '', ROUTEDIP_ARMED_BY: armed = '' } = process.env;

subscribe('routedip:kill-point', (message) => {
  const { point } = /** @type {{ point: string }} */ (message);
  if (point === at && existsSync(armed)) process.kill(process.pid, 'SIGKILL');
});
