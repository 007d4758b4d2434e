import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that the system gives to whoever asks for any, and to connections: nobody is given one of them before its server has started, or while that is
 *  away and started again. */
const PORTS = { first: 11_000, count: 20_000 };

/**
 * Null when somebody else listens there.
 * @param {number} port
 * @returns {Promise<import('node:net').Server | null>}
 */
const listenOn = (port) =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => (error.code === 'EADDRINUSE' ? resolve(null) : reject(error)));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });

/**
 * Distinct ports of the loopback address that were free a moment ago.
 * @param {number} count
 * @returns {Promise<readonly number[]>}
 */
export const freePorts = async (count) => {
  /** @type {Map<number, import('node:net').Server>} */
  const found = new Map();
  while (found.size < count) {
    const port = PORTS.first + randomInt(PORTS.count);
    const server = found.has(port) ? null : await listenOn(port);
    if (server) found.set(port, server);
  }
  await Promise.all([...found.values()].map((server) => new Promise((resolve) => server.close(resolve))));
  return [...found.keys()];
};

/** One of them. */
export const freePort = async () => {
  const [port = 0] = await freePorts(1);
  return port;
};
