/** What a span says besides its name and times: words of ours, never a payload. Undefined values are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  set(attributes: SpanAttributes): void;
}

/** Measures pieces of work, below whatever piece of work they are part of. */
export interface Tracer {
  /** Runs `work` in a span that ends with it; a failure of it is marked and comes through as it was. */
  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
  /** The span that the caller runs in; null outside of every one. */
  current(): { traceId: string; spanId: string } | null;
}

const SILENT: Span = { set: () => undefined };

/** Measures nothing: the tracer of programs without OTEL_EXPORTER_OTLP_ENDPOINT. */
export const NO_TRACES: Tracer = {
  span: (_name, _attributes, work) => work(SILENT),
  current: () => null,
};
