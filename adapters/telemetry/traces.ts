import { type Attributes, ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { PoolProjection } from '../../actors/ports/cluster.ts';
import type { MoveStep } from '../../actors/ports/observers.ts';
import type { ActiveJob, JobQueue, JobStep, Queues } from '../../actors/ports/queues.ts';
import type { Clock, Json } from '../../actors/ports/records.ts';
import { type ActorId, isFields } from '../../machines/model/types.ts';

export interface Tracing {
  step(step: MoveStep): void;
  /** A status was written. */
  shown(projection: PoolProjection): void;
  /** Added jobs carry the trace of their address; jobs run here join that trace, whichever process added them. */
  queues(queues: Queues): Queues;
  /** This process lost leadership: ends open spans as interrupted. */
  reset(): void;
  /** Flushes unsent spans. */
  close(): Promise<void>;
}

/** An address moving to a node. */
interface Move {
  readonly span: Span;
  readonly address: string;
  /** ms since the epoch. */
  readonly since: number;
  /** The node, once the provider has confirmed it there, and when that was saved. */
  confirmed: { readonly on: string; readonly at: number } | null;
}

/** One trace per move of an address to a node: `failover` from the loss of its node, `assignment` where there was none, until the status shows the node. Child spans are
 *  `elect`, each job with its waiting time in the queue, `confirm` and `show`. Exported to the collector named by the standard OpenTelemetry variables
 *  (`OTEL_EXPORTER_OTLP_ENDPOINT` etc.). Nothing waits for the export, and its failures have no effect. */
export function tracing({
  version,
  instance,
  clock,
}: {
  readonly version: string;
  readonly instance: string;
  readonly clock: Clock;
}): Tracing {
  const own = resourceFromAttributes({
    'service.name': 'routedip-operator',
    'service.version': version,
    'service.instance.id': instance,
  });
  const given = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  const provider = new TracerProvider({
    resource: defaultResource().merge(own).merge(given),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const spans = new Spans(provider.getTracer('routedip-operator', version), clock);
  return {
    step: (step) => spans.step(step),
    shown: (projection) => spans.shown(projection),
    queues: (inner) => ({ ...inner, queue: (name) => spans.queue(name, inner.queue(name)) }),
    reset: () => spans.reset(),
    close: () => provider.shutdown(),
  };
}

class Spans {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #moves = new Map<ActorId, Move>();

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer;
    this.#clock = clock;
  }

  step({ step, actor, at, fields }: MoveStep): void {
    const now = this.#clock.now();
    const attributes = attributesOf(fields);
    if (step === 'lost' || (step === 'elected' && !this.#moves.has(actor))) {
      this.#end(actor, 'overtaken');
      const span = this.#tracer.startSpan(step === 'lost' ? 'failover' : 'assignment', { startTime: at, attributes }, ROOT_CONTEXT);
      this.#moves.set(actor, { span, address: String(fields.address), since: at, confirmed: null });
    }
    const move = this.#moves.get(actor);
    if (!move) return;
    switch (step) {
      case 'elected':
        this.#child(move, 'elect', move.since, now, attributes);
        break;
      case 'assigned':
        this.#child(move, 'confirm', at, now, attributes);
        move.span.setAttributes(attributes);
        move.confirmed = { on: String(fields.to), at: now };
        break;
      case 'opened':
      case 'refused':
        move.span.addEvent(step, attributes, now);
        break;
      case 'served':
        if (!move.confirmed) this.#end(actor, 'returned');
        break;
      case 'gone':
        this.#end(actor, 'gone');
    }
  }

  shown({ ref, status }: PoolProjection): void {
    const now = this.#clock.now();
    for (const [actor, move] of this.#moves) {
      const { confirmed, address } = move;
      if (!confirmed || nodeIn(status, address) !== confirmed.on) continue;
      const [, namespace, name] = actor.split('/');
      if (ref.namespace !== namespace || ref.name !== name) continue;
      this.#child(move, 'show', confirmed.at, now);
      this.#end(actor, 'moved');
    }
  }

  queue(name: string, inner: JobQueue): JobQueue {
    return {
      ...inner,
      add: (jobs) => inner.add(jobs.map((job) => ({ ...job, data: this.#traced(job.data) }))),
      consume: (run, concurrency) => inner.consume((job) => this.#run(name, job, run), concurrency),
    };
  }

  reset(): void {
    for (const actor of this.#moves.keys()) this.#end(actor, 'interrupted');
  }

  #traced(data: Json): Json {
    const move = isFields(data) && typeof data.actor === 'string' && data.job !== undefined ? this.#moves.get(data.actor) : undefined;
    if (!move) return data;
    const { traceId, spanId } = move.span.spanContext();
    return { ...(data as { readonly [key: string]: Json }), traceparent: `00-${traceId}-${spanId}-01` };
  }

  async #run(queue: string, job: ActiveJob, run: (job: ActiveJob) => Promise<JobStep>): Promise<JobStep> {
    const { job: name, traceparent } = (isFields(job.data) ? job.data : {}) as { readonly job?: unknown; readonly traceparent?: unknown };
    const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(traceparent ?? '')) ?? [];
    if (!traceId || !spanId) return run(job);
    const parent = trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, isRemote: true });
    const began = this.#clock.now();
    const attributes = { queue, 'job.id': job.id, 'job.starts': job.starts };
    if (job.starts === 1)
      this.#tracer.startSpan(`queue ${name}`, { startTime: Math.min(job.queuedAt, began), attributes }, parent).end(began);
    const span = this.#tracer.startSpan(`run ${name}`, { startTime: began, attributes }, parent);
    try {
      const step = await run(job);
      span.setAttribute('job.outcome', step.kind);
      return step;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end(this.#clock.now());
    }
  }

  #child({ span }: Move, name: string, from: number, to: number, attributes = {}): void {
    this.#tracer.startSpan(name, { startTime: Math.min(from, to), attributes }, trace.setSpan(ROOT_CONTEXT, span)).end(to);
  }

  #end(actor: ActorId, outcome: 'moved' | 'returned' | 'overtaken' | 'gone' | 'interrupted'): void {
    this.#moves.get(actor)?.span.setAttribute('outcome', outcome).end(this.#clock.now());
    this.#moves.delete(actor);
  }
}

/** The fields of a step as span attributes. */
const attributesOf = (fields: Readonly<Record<string, unknown>>): Attributes =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name, typeof value === 'number' ? value : String(value)]),
  );

/** The node of an address according to the status of its pool or RoutedIP. */
function nodeIn(status: PoolProjection['status'], address: string): unknown {
  if (status.routedIP === address) return status.assignedNode;
  const entry = isFields(status.ips) ? status.ips[address] : undefined;
  return isFields(entry) ? entry.nodeName : undefined;
}
