/** OpenTelemetry. Loaded only if OTEL_EXPORTER_OTLP_ENDPOINT is set, to keep other starts fast. */
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Span as OtelSpan, Attributes } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResourcesSync, envDetectorSync, Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/worker';
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { OpenTelemetrySinks } from '@temporalio/interceptors-opentelemetry/lib/workflow/definitions';
import { maskText } from './log-fields';

/** Short values of our own, never a payload. Undefined values are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  set(attributes: SpanAttributes): void;
}

/** Measures operations as child spans of the current operation. */
export interface Tracer {
  /** Runs `work` in a span that ends with it. A failure is marked in the span and rethrown. */
  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
  /** The current span; null outside of any span. */
  current(): { traceId: string; spanId: string } | null;
}

/** The only attributes that are sent, because the SDK puts whole records into spans (memo, attributes, failures). */
const ALLOWED = new Set([
  ...['temporalWorkflowId', 'temporalActivityId', 'temporalUpdateId', 'run_id', 'workflowId', 'runId'],
  ...['workflowType', 'taskQueue', 'namespace', 'attempt'],
  ...['ebrc.filing_id', 'ebrc.exporter_id', 'ebrc.operation', 'ebrc.rate_class', 'ebrc.activity'],
  ...['http.request.method', 'http.response.status_code', 'url.template', 'server.address', 'server.port'],
  ...['db.system.name', 'db.operation.name', 'db.collection.name', 'error.type'],
]);

/** Wraps `exporter` and removes possible payloads: events, links, failure messages. */
function createSpanFilter(exporter: SpanExporter): SpanExporter {
  return {
    export: (spans, done) => exporter.export(spans.map(bareSpan), done),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

function bareSpan(span: ReadableSpan): ReadableSpan {
  const code = span.status?.code ?? SpanStatusCode.UNSET;
  return {
    name: maskText(span.name),
    kind: span.kind,
    spanContext: () => span.spanContext(),
    parentSpanId: span.parentSpanId,
    startTime: span.startTime,
    endTime: span.endTime,
    duration: span.duration,
    ended: span.ended,
    status: { code },
    attributes: bareAttributes(span),
    links: [],
    events: [],
    resource: span.resource,
    instrumentationLibrary: span.instrumentationLibrary,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function bareAttributes({ attributes, events }: ReadableSpan): Attributes {
  const kept: Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (!ALLOWED.has(name)) continue;
    if (typeof value === 'string') kept[name] = maskText(value);
    else if (typeof value === 'number' || typeof value === 'boolean') kept[name] = value;
  }
  // Keep only the class of a failure; its message is in the history, encrypted.
  const failure = events.find(({ name }) => name === 'exception')?.attributes?.['exception.type'];
  if (kept['error.type'] === undefined && typeof failure === 'string') kept['error.type'] = maskText(failure);
  return kept;
}

export interface Telemetry {
  tracer: Tracer;
  /** For Temporal's client: adds the trace context to starts, signals and updates. */
  clientInterceptor: WorkflowClientInterceptor;
  /** Adds attributes to the current span. */
  describeSpan: (attributes: SpanAttributes) => void;
  /** For workers that run activities. */
  activityInterceptors: ActivityInterceptorsFactory;
  /** For workers that run workflows, with the bundle for traced workers (`workflows-bundle.ts`). */
  sinks: InjectedSinks<OpenTelemetrySinks>;
  /** Sends the remaining spans. Does not reject. */
  close(): Promise<void>;
}

/** Call once per process, because OpenTelemetry's context is global. */
export function startTelemetry({
  endpoint,
  service,
  version,
  onLost,
}: {
  /** Root of the OTLP/HTTP receiver, without a trailing slash; spans go to `/v1/traces` below it. */
  endpoint: string;
  /** `service.name`, unless OTEL_SERVICE_NAME is set. */
  service: string;
  version: string;
  /** Called if spans could not be sent, which affects nothing else. */
  onLost?: (reason: string) => void;
}): Telemetry {
  setGlobalErrorHandler((error) => onLost?.(reasonOf(error)));
  const resource = new Resource({ 'service.name': service, 'service.version': version }).merge(
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have their standard meaning.
    detectResourcesSync({ detectors: [envDetectorSync] }),
  );
  const processor = new BatchSpanProcessor(createSpanFilter(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` })));
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  provider.register({
    contextManager: new AsyncLocalStorageContextManager(),
    propagator: new W3CTraceContextPropagator(),
  });
  const otel = provider.getTracer('ebrc-worker', version);
  return {
    tracer: {
      span: (name, attributes, work) =>
        otel.startActiveSpan(name, { kind: kindOf(attributes), attributes: known(attributes) }, (span) =>
          ended(span, () => work({ set: (more) => void span.setAttributes(known(more)) })),
        ),
      current: () => {
        const ids = trace.getActiveSpan()?.spanContext();
        return ids ? { traceId: ids.traceId, spanId: ids.spanId } : null;
      },
    },
    describeSpan: (attributes) => void trace.getActiveSpan()?.setAttributes(known(attributes)),
    clientInterceptor: quietClientInterceptor(),
    activityInterceptors: (activity) => ({
      inbound: new OpenTelemetryActivityInboundInterceptor(activity),
      outbound: new OpenTelemetryActivityOutboundInterceptor(activity),
    }),
    sinks: { exporter: makeWorkflowExporter(processor, resource) },
    close: async () => {
      await provider.shutdown().catch((error: unknown) => onLost?.(reasonOf(error)));
      for (const api of [trace, context, propagation]) api.disable();
    },
  };
}

/** Traces no queries and describes: commands poll every few seconds, and their traces would hide the others. */
function quietClientInterceptor(): WorkflowClientInterceptor {
  const interceptor: WorkflowClientInterceptor = new OpenTelemetryWorkflowClientInterceptor();
  interceptor.query = (input, next) => next(input);
  interceptor.describe = (input, next) => next(input);
  return interceptor;
}

async function ended<T>(span: OtelSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { kind } = error as { kind?: unknown };
    const type = typeof kind === 'string' ? kind : error instanceof Error ? error.name : 'Error';
    span.setAttribute('error.type', type);
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** CLIENT for a call that leaves the process, recognised by its attributes. */
function kindOf(attributes: SpanAttributes): SpanKind {
  return 'http.request.method' in attributes || 'db.system.name' in attributes ? SpanKind.CLIENT : SpanKind.INTERNAL;
}

function known(attributes: SpanAttributes): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string | number | boolean] => entry[1] !== undefined),
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
