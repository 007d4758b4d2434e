import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Connection } from '../../simulator/kubernetes/client.ts';
import { kubeconfigText } from '../../simulator/kubernetes/kubeconfig.ts';

/** One request and what the server answered. */
export interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body: string;
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface RecordingProxy {
  /** Path of a kubeconfig that leads through the proxy, in a folder of its own. */
  readonly kubeconfig: string;
  /** What has been answered since it was asked for last, in the order of the requests. */
  take(): readonly Exchange[];
  close(): Promise<void>;
}

/** Stands on loopback between a client and an API server, and writes down what they say. Clients need no credentials: the proxy has those of `connection`. */
export const recordingProxy = async (connection: Connection): Promise<RecordingProxy> => {
  const secure = connection.url.startsWith('https:');
  const { ca, cert, key } = connection;
  const agent = secure ? new HttpsAgent({ keepAlive: true, ca, cert, key }) : new HttpAgent({ keepAlive: true });
  let exchanges: (Exchange | undefined)[] = [];

  const upstream = ({ method, url, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      // What is compressed, or no text, could not be read here.
      const { host: _host, 'accept-encoding': _encoding, connection: _connection, ...kept } = headers;
      const accept = kept.accept?.replaceAll(/application\/(vnd\.kubernetes\.protobuf|com\.github\.proto-openapi[^,]*)(;[^,]*)?,?/g, '');
      const others = { ...kept, accept: accept || 'application/json' };
      const call = (secure ? httpsRequest : httpRequest)(new URL(url ?? '/', connection.url), { method, headers: others, agent }, resolve);
      call.on('error', reject);
      call.end(body);
    });

  const server = createServer((request, response) => {
    const taken = exchanges;
    const place = taken.push(undefined) - 1;
    const forward = async (): Promise<void> => {
      const body = await buffer(request);
      const answer = await upstream(request, body);
      const { statusCode: code = 0, headers } = answer;
      response.writeHead(code, headers);
      const chunks: Buffer[] = [];
      for await (const chunk of answer) {
        chunks.push(chunk as Buffer);
        response.write(chunk);
      }
      const { method = '', url: path = '' } = request;
      taken[place] = { method, path, body: body.toString('utf8'), code, headers, text: Buffer.concat(chunks).toString('utf8') };
      response.end();
    };
    // A client that has heard enough of a watch goes away.
    forward().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'recording-proxy-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  return {
    kubeconfig,
    take: () => {
      const done = exchanges.filter((exchange) => exchange !== undefined);
      exchanges = [];
      return done;
    },
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      agent.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
