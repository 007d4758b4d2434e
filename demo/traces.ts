import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** What a collector is sent of one span, in the JSON of OTLP. */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

/** A part of a trace. */
export interface TracePart {
  readonly name: string;
  /** After the trace began, ms. */
  readonly fromMs: number;
  readonly tookMs: number;
}

export interface Traces {
  /** What OTEL_EXPORTER_OTLP_ENDPOINT is to say. */
  readonly url: string;
  /** The last failover of an address, its parts in the order of their beginning; null when none was told within `waitMs`. */
  failoverOf(address: string, waitMs: number): Promise<readonly TracePart[] | null>;
  close(): void;
}

/** A collector of OpenTelemetry traces on loopback, for one demo. */
export async function collectTraces(): Promise<Traces> {
  const spans: Span[] = [];
  const server = createServer(async (request, response) => {
    try {
      const { resourceSpans } = (await json(request)) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.setHeader('content-type', 'application/json').end('{}');
    } catch {
      response.writeHead(400).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failoverOf: async (address, waitMs) => {
      const until = performance.now() + waitMs;
      for (;;) {
        const root = spans.findLast((span) => span.name === 'failover' && valueIn(span, 'address') === address);
        if (root) return partsOf(root, spans);
        if (performance.now() > until) return null;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const valueIn = ({ attributes }: Span, name: string) => attributes.find(({ key }) => key === name)?.value.stringValue;

const msOf = (from: string, to: string): number => Number(BigInt(to) - BigInt(from)) / 1e6;

function partsOf(root: Span, spans: readonly Span[]): readonly TracePart[] {
  const { startTimeUnixNano: began, traceId } = root;
  const children = spans.filter((span) => span.traceId === traceId && span.parentSpanId === root.spanId);
  const partOf = ({ name, startTimeUnixNano: from, endTimeUnixNano: to }: Span): TracePart => ({
    name,
    fromMs: msOf(began, from),
    tookMs: msOf(from, to),
  });
  // What waits for less than a millisecond begins with what comes after it.
  return [partOf(root), ...children.map(partOf).sort((a, b) => a.fromMs - b.fromMs || a.tookMs - b.tookMs)];
}

const WIDTH = 32;

/** A line for each part, with a bar where it is in the whole. */
export function traceLines(parts: readonly TracePart[], span: (ms: number) => string): readonly string[] {
  const wholeMs = Math.max(1, ...parts.map(({ fromMs, tookMs }) => fromMs + tookMs));
  const longest = Math.max(...parts.map(({ name }) => name.length));
  return parts.map(({ name, fromMs, tookMs }) => {
    const from = Math.min(WIDTH - 1, Math.floor((fromMs / wholeMs) * WIDTH));
    const length = Math.max(1, Math.min(WIDTH - from, Math.round((tookMs / wholeMs) * WIDTH)));
    const bar = `${'.'.repeat(from)}${'='.repeat(length)}`.padEnd(WIDTH, '.');
    return `${name.padEnd(longest)}  ${bar}  ${span(tookMs).padStart(9)}`;
  });
}
