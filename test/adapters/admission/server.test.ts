import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AdmissionRule } from '../../../actors/ports/admission.ts';
import type { Log } from '../../../actors/ports/observers.ts';
import { Bodies } from '../../../adapters/admission/bodies.ts';
import { type Issued, issue } from '../../../adapters/admission/certificates.ts';
import { IP_PATH, VIRTUAL_IP_PATH } from '../../../adapters/admission/names.ts';
import { startWebhook, type Webhook } from '../../../adapters/admission/server.ts';
import { type AdmissionFacts, admitIP, admitVirtualIP } from '../../../machines/migration/admission.ts';
import { waitFor } from '../../support/wait-for.ts';
import { recordedLog } from '../kubernetes/support.ts';
import { type Answer, post } from './support.ts';

const OPERATOR = 'system:serviceaccount:operator:operator';

let issued: Issued;
let other: Issued;

beforeAll(async () => {
  const validity = { from: Date.now() - 60_000, to: Date.now() + 3_600_000 };
  [issued, other] = await Promise.all([issue(['127.0.0.1'], validity), issue(['127.0.0.1'], validity)]);
});

const started = async (log: Log = recordedLog(), decide: AdmissionRule = (facts) => admitIP(facts, OPERATOR)): Promise<Webhook> => {
  const webhook = await startWebhook({
    bind: { host: '127.0.0.1', port: 0 },
    rules: { [IP_PATH]: { resource: 'ips', decide }, [VIRTUAL_IP_PATH]: { resource: 'virtualips', decide: admitVirtualIP } },
    log,
  });
  onTestFinished(() => webhook.close());
  webhook.use(issued);
  return webhook;
};

const question = (more: object = {}, resource = 'ips'): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: '705ab4f5',
    operation: 'DELETE',
    resource: { group: 'paas.org', version: 'v1', resource },
    userInfo: { username: 'jane' },
    object: null,
    oldObject: { metadata: { name: '1.1.1.1' } },
    ...more,
  },
});

const asks = (webhook: Webhook, body: object | string, path = IP_PATH, more: Partial<Parameters<typeof post>[1]> = {}): Promise<Answer> =>
  post(webhook.url + path, { ca: issued.ca, body: typeof body === 'string' ? body : JSON.stringify(body), ...more });

describe('the admission webhook', () => {
  test('denies in the words of the rule, and allows', async () => {
    const webhook = await started();
    const { status, body } = await asks(webhook, question());
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: '705ab4f5',
        allowed: false,
        status: {
          status: 'Failure',
          code: 403,
          reason: 'Forbidden',
          message: `user jane cannot delete ip objects, only ${OPERATOR} is allowed`,
        },
      },
    });
    const allowed = await asks(webhook, question({ userInfo: { username: OPERATOR } }));
    expect(JSON.parse(allowed.body).response).toEqual({ uid: '705ab4f5', allowed: true });
  });

  test('hands the objects of before and after to the rule', async () => {
    const heard: AdmissionFacts[] = [];
    const webhook = await started(recordedLog(), (facts) => {
      heard.push(facts);
      return { kind: 'allowed' };
    });
    await asks(webhook, question({ operation: 'UPDATE', object: { a: 1 }, oldObject: { a: 2 } }));
    await asks(webhook, question({ object: undefined }));
    expect(heard).toEqual([
      { operation: 'UPDATE', user: 'jane', object: { a: 1 }, oldObject: { a: 2 } },
      { operation: 'DELETE', user: 'jane', object: null, oldObject: { metadata: { name: '1.1.1.1' } } },
    ]);
  });

  test.each<[string, object | string, Partial<Parameters<typeof post>[1]>]>([
    ['nothing', '', {}],
    ['no JSON', '{', {}],
    ['JSON that is no object', 'null', {}],
    ['another kind', { apiVersion: 'v1', kind: 'Pod' }, {}],
    ['an older version', { ...question(), apiVersion: 'admission.k8s.io/v1beta1' }, {}],
    ['no request', { ...question(), request: undefined }, {}],
    ['no uid', question({ uid: '' }), {}],
    ['no user', question({ userInfo: {} }), {}],
    ['another operation', question({ operation: 'CONNECT' }), {}],
    ['another resource', question({}, 'virtualips'), {}],
    ['another group', question({ resource: { group: 'example.com', version: 'v1', resource: 'ips' } }), {}],
    ['another content type', question(), { contentType: 'text/plain' }],
    ['another method', question(), { method: 'PUT' }],
    ['300 KiB', `"${'x'.repeat(300 * 1024)}"`, {}],
    ['300 KiB that were not announced', `"${'x'.repeat(300 * 1024)}"`, { chunked: true }],
  ])('answers 400 to %s, and goes on', async (_, body, more) => {
    const log = recordedLog();
    const webhook = await started(log);
    // A client that is told before it has sent all may see the connection end instead.
    const answer = await asks(webhook, body, IP_PATH, more).catch((error: NodeJS.ErrnoException) => error.code ?? String(error));
    if (typeof answer === 'string') expect(answer).toMatch(/^(ECONNRESET|EPIPE)$/);
    else expect(answer.status).toBe(400);
    expect((await asks(webhook, question())).status).toBe(200);
    expect(log.lines).toEqual([]);
  });

  /** Strangers who have sent the first part of a question, and keep the rest. */
  const stalled = async (webhook: Webhook, count: number): Promise<readonly TLSSocket[]> => {
    const port = Number(new URL(webhook.url).port);
    const head = `POST ${IP_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n`;
    const sockets = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', ca: issued.ca }));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    await Promise.all(
      sockets.map(async (socket) => {
        socket.on('error', () => undefined).resume();
        await new Promise<void>((resolve) => socket.write(`${head}${'x'.repeat(100_000)}`, () => resolve()));
      }),
    );
    return sockets;
  };

  test('bears clients that go away in the middle, any number of them', async () => {
    const log = recordedLog();
    const webhook = await started(log);
    for (const socket of await stalled(webhook, 100)) socket.destroy();
    expect((await asks(webhook, question())).status).toBe(200);
    expect(log.lines).toEqual([]);
  });

  test('answers however many strangers hold their questions back, and ends those after two seconds', async () => {
    const log = recordedLog();
    const webhook = await started(log);
    const sockets = await stalled(webhook, 100);
    const before = performance.now();
    for (let asked = 0; asked < 5; asked += 1) expect((await asks(webhook, question())).status).toBe(200);
    expect(performance.now() - before).toBeLessThan(2_000);
    await waitFor('all are ended', () => sockets.every(({ readableEnded, destroyed }) => readableEnded || destroyed), 8_000);
    expect(log.lines).toEqual([]);
  });

  test('gives the eldest question up that has not come yet when there are too many', async () => {
    const bodies = new Bodies();
    const given: number[] = [];
    const questions = Array.from({ length: 66 }, (_, index) => {
      const stream = Object.assign(new PassThrough(), { headers: { 'content-type': 'application/json' } });
      const read = bodies.read(stream as unknown as IncomingMessage);
      read.catch(() => given.push(index));
      return { stream, read };
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(given).toEqual([0, 1]);
    questions.at(-1)?.stream.end('{}');
    expect(await questions.at(-1)?.read).toBe('{}');
    for (const { stream } of questions) stream.destroy();
  });

  test('does not repeat what it was sent', async () => {
    const webhook = await started();
    expect((await asks(webhook, '{"password": hunter2')).body).not.toContain('hunter2');
  });

  test('answers 404 elsewhere', async () => {
    expect((await asks(await started(), question(), '/other')).status).toBe(404);
  });

  test('cannot decide while the operator does not know who it is, and can as soon as it does', async () => {
    const log = recordedLog();
    let known = false;
    const webhook = await started(log, async (facts) => {
      if (!known) throw new Error('no answer from the API server');
      return admitIP(facts, OPERATOR);
    });
    expect(await asks(webhook, question())).toEqual({ status: 503, body: 'cannot decide now' });
    expect(log.lines).toEqual(['warn a question of the API server was not answered {"error":"no answer from the API server"}']);
    known = true;
    expect((await asks(webhook, question())).status).toBe(200);
  });

  test('keeps an idle connection longer than the API server does, so that no question meets its end', async () => {
    const webhook = await started();
    const socket = connect({ port: Number(new URL(webhook.url).port), host: '127.0.0.1', ca: issued.ca });
    onTestFinished(() => void socket.destroy());
    const body = JSON.stringify(question());
    const head = ['Host: x', 'Content-Type: application/json', `Content-Length: ${body.length}`];
    socket.write(`POST ${IP_PATH} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`);
    const [answered] = await once(socket, 'data');
    const [, seconds] = /^Keep-Alive: timeout=(\d+)/im.exec(String(answered)) ?? [];
    expect(String(answered)).toContain('200 OK');
    expect(Number(seconds)).toBeGreaterThan(90);
  });

  test('serves another certificate from now on when it is given one', async () => {
    const webhook = await started();
    await expect(post(webhook.url + IP_PATH, { ca: other.ca, body: '' })).rejects.toThrow();
    webhook.use(other);
    expect((await post(webhook.url + IP_PATH, { ca: other.ca, body: JSON.stringify(question()) })).status).toBe(200);
    await expect(post(webhook.url + IP_PATH, { ca: issued.ca, body: '' })).rejects.toThrow();
  });

  test('serves nothing before it has a certificate, and nothing by old TLS', async () => {
    const webhook = await startWebhook({ bind: { host: '127.0.0.1', port: 0 }, rules: {}, log: recordedLog() });
    onTestFinished(() => webhook.close());
    await expect(post(webhook.url + IP_PATH, { ca: issued.ca })).rejects.toThrow();
    webhook.use(issued);
    expect((await post(webhook.url + IP_PATH, { ca: issued.ca })).status).toBe(404);
    const port = Number(new URL(webhook.url).port);
    const old = new Promise((resolve, reject) => {
      connect({ port, host: '127.0.0.1', ca: issued.ca, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }, () => resolve('connected')).on(
        'error',
        reject,
      );
    });
    await expect(old).rejects.toThrow();
  });

  test('names the address that it cannot listen on', async () => {
    const { url } = await started();
    const bind = { host: '127.0.0.1', port: Number(new URL(url).port) };
    await expect(startWebhook({ bind, rules: {}, log: recordedLog() })).rejects.toThrow(`cannot listen on 127.0.0.1:${bind.port}: `);
  });
});
