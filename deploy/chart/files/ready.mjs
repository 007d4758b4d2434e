// What `helm test` runs, in a Pod of the operator's own image: asks every replica behind the metrics Service for /readyz. Ends with 0 once so many as there should be
// are ready, else after a minute with 1 and with what each of them says.
import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const { SERVICE = '', PORT = '8080', REPLICAS = '1', SECONDS = '60' } = process.env;

const ask = async ({ address, family }) => {
  const host = family === 6 ? `[${address}]` : address;
  try {
    const answer = await fetch(`http://${host}:${PORT}/readyz`, { signal: AbortSignal.timeout(5_000) });
    return { isReady: answer.ok, line: `${address}: ${(await answer.text()).trim()}` };
  } catch (error) {
    return { isReady: false, line: `${address}: ${error.cause?.message || error.cause?.code || error.message}` };
  }
};

const look = async () => {
  let addresses;
  try {
    addresses = await lookup(SERVICE, { all: true });
  } catch (error) {
    return { isDone: false, lines: [`no replica is behind the Service ${SERVICE}: ${error.message}`] };
  }
  const answers = await Promise.all(addresses.map(ask));
  const ready = answers.filter(({ isReady }) => isReady).length;
  const isDone = ready === answers.length && ready >= Number(REPLICAS);
  return { isDone, lines: [...answers.map(({ line }) => line), `${ready} ready, ${REPLICAS} wanted`] };
};

const deadline = Date.now() + Number(SECONDS) * 1_000;
let seen = await look();
while (!seen.isDone && Date.now() < deadline) {
  await sleep(1_000);
  seen = await look();
}
console.log(seen.lines.join('\n'));
process.exitCode = seen.isDone ? 0 : 1;
