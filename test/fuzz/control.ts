import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// A process that does nothing but answer.
const server = createServer((_, response) => response.end('ok\n'));
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
