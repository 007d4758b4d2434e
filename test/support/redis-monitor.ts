import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** A command that Redis has run. */
export interface MonitoredCommand {
  /** Its name and its arguments. */
  readonly args: readonly string[];
  /** `lua` when a script ran it, else the address of the client. */
  readonly source: string;
}

/** `+1795299438.604635 [0 lua] "HMGET" "key"`, as MONITOR prints each command. */
const LINE = /^\+[\d.]+ \[\d+ (?<source>[^\]]+)\] (?<args>".*")$/;
const ARGUMENT = /"((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

const unescaped = (text: string): string =>
  text.replaceAll(/\\(x[0-9a-f]{2}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (ESCAPES[code] ?? code),
  );

/** Tells every command that reaches this Redis, and those of its scripts, from when this resolves. Over a connection of its own: ioredis fails when commands
 *  arrive together with the answer to MONITOR. Answers what ends it. */
export async function monitorRedis(url: string, tell: (command: MonitoredCommand) => void): Promise<() => void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = createInterface({ input: socket });
  const begun = Promise.withResolvers<void>();
  socket.on('error', begun.reject);
  lines.on('line', (line) => {
    if (line === '+OK') begun.resolve();
    const { source, args } = LINE.exec(line)?.groups ?? {};
    if (source !== undefined && args !== undefined)
      tell({ source, args: [...args.matchAll(ARGUMENT)].map(([, text = '']) => unescaped(text)) });
  });
  await once(socket, 'connect');
  socket.write('MONITOR\r\n');
  await begun.promise;
  return () => void socket.destroy();
}
