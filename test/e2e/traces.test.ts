import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openStage, type Stage } from './stage.ts';
import { openTarget, type Target } from './target.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string; readonly intValue?: number } }[];
  /** From which process it came. */
  readonly from: string;
}

const valueIn = (attributes: Span['attributes'], name: string): unknown => {
  const value = attributes.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? value?.intValue;
};

/** A collector that takes traces in JSON, as the protocol has it. */
class Collector {
  readonly spans: Span[] = [];
  texts = '';
  readonly #server: Server = createServer(async (request, response) => {
    const body = (await json(request)) as {
      resourceSpans: { resource: { attributes: Span['attributes'] }; scopeSpans: { spans: Span[] }[] }[];
    };
    this.texts += JSON.stringify(body);
    for (const { resource, scopeSpans } of body.resourceSpans)
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.spans.push({ ...span, from: String(valueIn(resource.attributes, 'service.name')) });
    response.setHeader('content-type', 'application/json').end('{}');
  });
  url = '';

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  below(root: Span): readonly Span[] {
    return this.spans.filter(({ traceId, parentSpanId }) => traceId === root.traceId && parentSpanId === root.spanId);
  }
}

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });
const TOKEN = 'token-of-traces-0123456789';
const collector = { current: new Collector() };
let target: Target;
let stage: Stage;
beforeEach(async () => {
  collector.current = new Collector();
  await collector.current.open();
  target = await openTarget();
  stage = await openStage(target);
  await stage.nodes('a', 'b');
});
afterEach(async () => {
  await stage.close();
  await target.close();
  collector.current.close();
});

/** A pool of one address, of which the node fails; all operators have ended by then. Answers the nodes. */
async function failover(replicas: readonly string[]): Promise<{ readonly from: string; readonly to: string; readonly address: string }> {
  const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
  const operators = [];
  for (const name of replicas)
    operators.push(
      await stage.start({
        token: TOKEN,
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.current.url, OTEL_BSP_SCHEDULE_DELAY: '100', OTEL_SERVICE_NAME: name },
      }),
    );
  await stage.pool('ingress', { ips: [ip] });
  await stage.until('it is active', async () => (await stage.activeOn('ingress', ip)) !== null);
  const from = String(await stage.activeOn('ingress', ip));
  await stage.notReady(from);
  await stage.until('it is active elsewhere', async () => ![null, from].includes(await stage.activeOn('ingress', ip)));
  const to = String(await stage.activeOn('ingress', ip));
  const isTold = (): boolean => collector.current.spans.some(({ name }) => name === 'failover');
  await stage.until('it is traced', isTold);
  for (const operator of operators) expect(await operator.stop()).toBe(0);
  return { from, to, address: ip };
}

test('a failover is one trace, from the loss of its node until the status shows the next one', async () => {
  const { from, to, address } = await failover(['one']);
  const [root, ...others] = collector.current.spans.filter(({ name }) => name === 'failover');
  if (!root) throw new Error('there is no trace');
  expect(others).toEqual([]);
  const about = Object.fromEntries(
    ['object', 'address', 'from', 'to', 'reason', 'outcome'].map((key) => [key, valueIn(root.attributes, key)]),
  );
  expect(about).toEqual({ object: 'FloatingIPPool default/ingress', address, from, to, reason: 'NodeLost', outcome: 'moved' });
  const spans = [...collector.current.below(root)].sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)));
  // The job is run again until the provider has ended its action.
  expect([...new Set(spans.map(({ name }) => name))]).toEqual(['elect', 'queue assign', 'run assign', 'confirm', 'show']);
  for (const span of spans) {
    expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(root.startTimeUnixNano));
    expect(BigInt(span.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(root.endTimeUnixNano));
  }
  expect(collector.current.texts).not.toContain(TOKEN);
});

test('a job that another replica runs is part of the trace', async () => {
  await failover(['one', 'two', 'three']);
  const roots = collector.current.spans.filter(({ name }) => name === 'failover' || name === 'assignment');
  for (const root of roots) {
    const runs = collector.current.below(root).filter(({ name }) => name === 'run assign');
    expect(runs.length).toBeGreaterThan(0);
  }
});

test('an operator whose collector is away goes on, and ends as asked', async () => {
  const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
  const operator = await stage.start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_BSP_SCHEDULE_DELAY: '100' } });
  await stage.pool('ingress', { ips: [ip] });
  await stage.until('it is active', async () => (await stage.activeOn('ingress', ip)) !== null);
  expect(await operator.stop()).toBe(0);
  expect(operator.noise).toEqual([]);
});

/** Preloaded into the process: has it say which modules of OpenTelemetry it loads. */
const TELLS_LOADED = `import { registerHooks } from 'node:module';
registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    if (found.url.includes('/@opentelemetry/')) process.stdout.write(JSON.stringify({ level: 'info', msg: 'loads', specifier }) + '\\n');
    return found;
  },
});`;

/** What an operator loads of OpenTelemetry until it is ready. */
async function loadedWith(endpoint: string): Promise<readonly unknown[]> {
  const operator = await stage.start({
    isBundled: false,
    nodeFlags: [`--import=data:text/javascript,${encodeURIComponent(TELLS_LOADED)}`],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
  });
  await operator.ready();
  expect(await operator.stop()).toBe(0);
  return operator.log.filter(({ msg }) => msg === 'loads').map(({ specifier }) => specifier);
}

test('the SDK is loaded only where a collector is named', async () => {
  expect(await loadedWith('')).toEqual([]);
  expect(await loadedWith('http://127.0.0.1:9')).toContain('@opentelemetry/sdk-trace');
});
