// Preloaded into an operator process (`node --import`): once the file named by ROUTEDIP_ARMED_BY exists, the process sends itself a signal the next time
// it passes the point named by ROUTEDIP_KILL_AT with what begins as ROUTEDIP_KILL_ABOUT says. SIGKILL unless ROUTEDIP_KILL_BY names another one: no handler runs, nothing is flushed, as if the
// machine had gone. SIGSTOP stops it there, once; whoever sends SIGCONT lets it go on. What is written in the file, {"at", "about"} as JSON, counts for more than the environment.
import { subscribe } from 'node:diagnostics_channel';
import { existsSync, readFileSync } from 'node:fs';

const {
  ROUTEDIP_KILL_AT: at,
  ROUTEDIP_KILL_ABOUT: about = '',
  ROUTEDIP_ARMED_BY: armed = '',
  ROUTEDIP_KILL_BY: signal = 'SIGKILL',
} = process.env;
let isOver = false;

subscribe('routedip:kill-point', (message) => {
  const passed = /** @type {{ point: string, about: string }} */ (message);
  if (isOver || !existsSync(armed)) return;
  const told = readFileSync(armed, 'utf8');
  const where = told === '' ? { at, about } : JSON.parse(told);
  if (passed.point !== where.at || !passed.about.startsWith(where.about)) return;
  isOver = true;
  process.kill(process.pid, signal);
});
