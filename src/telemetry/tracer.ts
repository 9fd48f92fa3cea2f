/** Short words of ours, never a payload. Undefined values are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  set(attributes: SpanAttributes): void;
}

/** Measures operations, as children of the operation that they are part of. */
export interface Tracer {
  /** Runs `work` in a span that ends with it; a failure is marked in the span and passed on. */
  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
  /** The span of the caller; null outside of any span. */
  current(): { traceId: string; spanId: string } | null;
}

const SILENT: Span = { set: () => undefined };

/** The tracer of programs without OTEL_EXPORTER_OTLP_ENDPOINT: measures nothing. */
export const NO_TRACES: Tracer = {
  span: (_name, _attributes, work) => work(SILENT),
  current: () => null,
};
