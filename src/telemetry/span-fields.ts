/** The parts of a span that are sent: names, times, ids and short words of ours. */
import { SpanStatusCode, type Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { maskText } from './log-fields';

/**
 * The SDK's interceptors put whole records into a span (memo, search attributes, messages and stacks of failures, the
 * reason of a termination). Only these attributes are sent.
 */
const ALLOWED = new Set([
  ...['temporalWorkflowId', 'temporalActivityId', 'temporalUpdateId', 'run_id', 'workflowId', 'runId'],
  ...['workflowType', 'taskQueue', 'namespace', 'attempt'],
  ...['ebrc.filing_id', 'ebrc.exporter_id', 'ebrc.operation', 'ebrc.rate_class', 'ebrc.activity'],
  ...['http.request.method', 'http.response.status_code', 'url.template', 'server.address', 'server.port'],
  ...['db.system.name', 'db.operation.name', 'db.collection.name', 'error.type'],
]);

/**
 * Wraps `exporter` and removes everything from each span that could be a payload: events, links, messages of failures.
 */
export function createSpanFilter(exporter: SpanExporter): SpanExporter {
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
  // The class of a failure is enough here; its message is in the history, encrypted.
  const failure = events.find(({ name }) => name === 'exception')?.attributes?.['exception.type'];
  if (kept['error.type'] === undefined && typeof failure === 'string') kept['error.type'] = maskText(failure);
  return kept;
}
