// Stands for an operator that is to be replaced: holds its Lease as client-go does, and does nothing else. Runs in a Pod. LEASE is its namespace and name; with RELEASES=yes
// it gives the Lease up when it ends, else that runs out.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';

const { LEASE = '', RELEASES, KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
const [namespace, name] = LEASE.split('/');
const LEASES = `https://${host}:${port}/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
const SECONDS = 15;
const me = `${hostname()}_stand-in`;

/** @param {string} method @param {string} url @param {object} [body] */
const send = (method, url, body) =>
  fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8')}`,
      'content-type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  });

/** @param {string} holderIdentity @param {number} leaseDurationSeconds */
const held = (holderIdentity, leaseDurationSeconds) => {
  const now = new Date().toISOString().replace('Z', '000Z');
  return { holderIdentity, leaseDurationSeconds, acquireTime: now, renewTime: now };
};

/** @param {Response} answer @returns {Promise<{ metadata: object, spec: { holderIdentity: string, renewTime: string, leaseDurationSeconds: number } }>} */
const leaseIn = (answer) => /** @type {Promise<never>} */ (answer.json());

/** Takes the Lease when it is nobody's, and keeps it. What somebody else writes meanwhile is refused to us, and seen the next time. */
async function renew() {
  const found = await send('GET', `${LEASES}/${name}`);
  const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
  if (found.status === 404) return send('POST', LEASES, { ...kind, metadata: { name }, spec: held(me, SECONDS) });
  const { metadata, spec } = await leaseIn(found);
  const isOver = Date.now() > Date.parse(spec.renewTime) + spec.leaseDurationSeconds * 1_000;
  if (spec.holderIdentity && spec.holderIdentity !== me && !isOver) return found;
  return send('PUT', `${LEASES}/${name}`, { ...kind, metadata, spec: held(me, SECONDS) });
}

async function release() {
  const { metadata, spec } = await leaseIn(await send('GET', `${LEASES}/${name}`));
  if (spec.holderIdentity === me) await send('PUT', `${LEASES}/${name}`, { metadata, spec: held('', 1) });
}

let isStopping = false;
process.once('SIGTERM', () => {
  isStopping = true;
});
while (!isStopping) {
  await renew();
  await wait(1_000);
}
if (RELEASES === 'yes') await release();
