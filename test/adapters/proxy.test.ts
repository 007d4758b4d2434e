import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Fenced } from '../../actors/ports/errors.ts';
import { issue } from '../../adapters/admission/certificates.ts';
import { createDigitalOceanProvider } from '../../adapters/digitalocean/provider.ts';
import { proxyFor } from '../../adapters/http/proxy.ts';
import type { Address, ProviderID } from '../../machines/model/types.ts';
import { kubeconfigText } from '../../simulator/kubernetes/kubeconfig.ts';
import { failure } from '../contracts/provider-harness.ts';
import { recordingBudget, recordingLog, secret } from './digitalocean/support.ts';
import { connected } from './kubernetes/support.ts';

const ADDRESS = '203.0.113.7' as Address;
const NODE = 'digitalocean://1' as ProviderID;
const API = 'api.example';

afterEach(() => void vi.unstubAllEnvs());

describe('a proxy', () => {
  const PROXY = 'http://proxy.example:3128';
  const all = { HTTPS_PROXY: PROXY, HTTP_PROXY: 'plain.example' };

  test.each<[string, string, Readonly<Record<string, string>>, string | null]>([
    ['by the variable of the scheme', 'https://api.example/v2', all, PROXY],
    ['also where that names no scheme of its own', 'http://api.example', all, 'http://plain.example'],
    ['in small letters', 'https://api.example', { https_proxy: PROXY }, PROXY],
    ['not where nothing is said', 'https://api.example', {}, null],
    ['not for this machine', 'http://localhost:8080', all, null],
    ['nor its addresses', 'https://127.0.0.1:6443', all, null],
    ['nor those of IPv6', 'https://[::1]:6443', all, null],
    ['not for a name', 'https://api.example', { ...all, NO_PROXY: 'other, api.example' }, null],
    ['nor what is below it', 'https://api.example', { ...all, NO_PROXY: 'example' }, null],
    ['with a dot for what is below alone', 'https://example', { ...all, NO_PROXY: '.example' }, PROXY],
    ['with a star, too', 'https://api.example', { ...all, NO_PROXY: '*.example' }, null],
    ['but for what ends alike', 'https://myapi.example', { ...all, NO_PROXY: 'api.example' }, PROXY],
    ['not for anything', 'https://api.example', { ...all, no_proxy: '*' }, null],
    ['not for an address', 'https://10.0.0.1:6443', { ...all, NO_PROXY: '10.0.0.1' }, null],
    ['nor for one of IPv6', 'https://[2001:db8::1]', { ...all, NO_PROXY: '2001:db8::1' }, null],
    ['however it is written', 'https://[2001:db8::1]', { ...all, NO_PROXY: '2001:DB8:0::1' }, null],
    ['but for one that ends alike', 'https://110.0.0.1', { ...all, NO_PROXY: '0.0.1' }, PROXY],
    ['not where there is but a blank', 'https://api.example', { HTTPS_PROXY: ' ' }, null],
    ['nor for a network', 'https://10.3.4.5', { ...all, NO_PROXY: '10.0.0.0/8' }, null],
    ['but for what is outside of it', 'https://11.3.4.5', { ...all, NO_PROXY: '10.0.0.0/8' }, PROXY],
    ['not for a port', 'https://api.example:8443', { ...all, NO_PROXY: 'api.example:8443' }, null],
    ['but for another one', 'https://api.example', { ...all, NO_PROXY: 'api.example:8443' }, PROXY],
  ])('is used %s', (_, url, variables, proxy) => expect(proxyFor(url, variables)).toBe(proxy));

  test.each([
    ['socks5://user:secret@proxy.example:1080', 'socks5://proxy.example:1080'],
    ['http://', 'a text that is no URL'],
    ['user:secret@:', 'a text that is no URL'],
  ])('that is %s is refused, without its password', (proxy, what) => {
    const refused = () => proxyFor('https://api.example', { HTTPS_PROXY: proxy });
    expect(refused).toThrow(`HTTPS_PROXY or HTTP_PROXY is ${what}: it has to be http://HOST:PORT`);
    expect(refused).not.toThrow('secret');
  });
});

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

const tunnels: Duplex[] = [];

/** An API over TLS, and a proxy by whose CONNECT everything reaches it. */
async function behindProxy(answer: (request: IncomingMessage) => unknown) {
  const { ca, cert, key } = await issue([API], { from: Date.now() - 60_000, to: Date.now() + 3_600_000 });
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, ca]);
  onTestFinished(() => setDefaultCACertificates(before));
  const api = await listening(
    createHttpsServer({ cert, key }, (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(request)));
    }),
  );
  const asked: string[] = [];
  const proxy = createHttpServer();
  let held = (go: () => void): void => go();
  proxy.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    tunnels.push(socket);
    held(() => {
      const through = connect(api, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        through.pipe(socket).pipe(through);
      });
      for (const each of [socket, through]) each.on('error', () => through.destroy());
      onTestFinished(() => void through.destroy());
    });
  });
  vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${await listening(proxy)}`);
  vi.stubEnv('NO_PROXY', '');
  const hold = (by: typeof held): void => {
    held = by;
  };
  return { asked, hold };
}

describe('requests by a proxy', () => {
  test('reach the API of a provider, and are fenced in the last moment as others are', async () => {
    const seen: string[] = [];
    const { asked } = await behindProxy(({ method, url }) => {
      seen.push(`${method} ${url}`);
      return { action: { id: 5, status: 'in-progress' } };
    });
    const options = { token: secret, url: `https://${API}`, budget: recordingBudget(), log: recordingLog() };
    const provider = createDigitalOceanProvider(options);
    onTestFinished(() => provider.close());
    const order: string[] = [];
    const fence = { read: async () => void order.push('read'), assertFresh: () => void order.push('fresh') };
    expect(await provider.assignRoutedIP(ADDRESS, NODE, { purpose: 'failover', fence })).toBe('5');
    expect([asked, seen, order]).toEqual([[`${API}:443`], [`POST /v2/reserved_ips/${ADDRESS}/actions`], ['read', 'fresh']]);
    const stale = {
      ...fence,
      assertFresh: () => {
        throw new Fenced('an older term');
      },
    };
    await expect(provider.assignRoutedIP(ADDRESS, NODE, { purpose: 'failover', fence: stale })).rejects.toThrow(Fenced);
    expect(seen).toHaveLength(1);
  });

  test('end at their deadline while it opens no tunnel: nothing was sent, and nothing is sent later', async () => {
    const open: (() => void)[] = [];
    const { asked, hold } = await behindProxy(() => ({}));
    hold((go) => void open.push(go));
    const options = { token: secret, url: `https://${API}`, budget: recordingBudget(), log: recordingLog(), deadlineMs: 200 };
    const provider = createDigitalOceanProvider(options);
    onTestFinished(() => provider.close());
    const fence = { read: async () => undefined, assertFresh: vi.fn() };
    const error = await failure(provider.assignRoutedIP(ADDRESS, NODE, { purpose: 'failover', fence }));
    expect(error).toMatchObject({ kind: 'Unavailable', unknownOutcome: false, message: expect.stringContaining('deadline exceeded') });
    expect(asked).toHaveLength(1);
    const closed = new Promise<void>((resolve) => void tunnels.at(-1)?.once('close', resolve));
    for (const go of open) go();
    await closed;
    expect(fence.assertFresh).not.toHaveBeenCalled();
  });

  test('reach the API server, but not where NO_PROXY has it', async () => {
    const { asked } = await behindProxy(() => ({ kind: 'NodeList', items: [] }));
    const text = kubeconfigText(`https://${API}`);
    const connection = connected(text);
    const get = () => connection.send({ method: 'GET', path: '/api/v1/nodes' });
    for (const answer of await Promise.all(Array.from({ length: 10 }, get))) expect(answer).toMatchObject({ kind: 'NodeList' });
    expect(new Set(asked)).toEqual(new Set([`${API}:443`]));
    const before = asked.length;
    vi.stubEnv('NO_PROXY', `.svc,${API}`);
    await expect(connected(text).send({ method: 'GET', path: '/api/v1/nodes' })).rejects.toThrow(/ENOTFOUND|EAI_AGAIN|no answer/);
    expect(asked).toHaveLength(before);
  });

  test('to the API server end at their deadline while it opens no tunnel', async () => {
    const { asked, hold } = await behindProxy(() => ({}));
    hold(() => undefined);
    const connection = connected(kubeconfigText(`https://${API}`), 200);
    await expect(connection.send({ method: 'GET', path: '/api/v1/nodes' })).rejects.toMatchObject({ name: 'ServerUnreachable' });
    expect(asked).toHaveLength(1);
  });
});
