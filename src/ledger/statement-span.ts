import type { SpanAttributes, Tracer } from '../telemetry/tracer';

/** The name of a statement in a trace: its verb and its table. The text and the values are not sent. */
function spanOf(text: string): { name: string; attributes: SpanAttributes } {
  const verb = /[A-Z]+/iu.exec(text)?.[0].toUpperCase() ?? 'SQL';
  const table = /\b(?:FROM|INTO|UPDATE|TABLE)\s+([a-z_]+)/iu.exec(text)?.[1];
  return {
    name: table === undefined ? verb : `${verb} ${table}`,
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': verb, 'db.collection.name': table },
  };
}

/** Runs a statement in its own span, if the caller has a span: statements outside of any operation are not traced. */
export function inStatementSpan(tracer: Tracer, args: readonly unknown[], run: () => unknown): unknown {
  const [first] = args;
  const text = typeof first === 'string' ? first : (first as { text?: unknown } | null)?.text;
  // With a callback there is no promise to wait for.
  if (tracer.current() === null || typeof text !== 'string' || typeof args.at(-1) === 'function') return run();
  const { name, attributes } = spanOf(text);
  return tracer.span(name, attributes, () => Promise.resolve(run()));
}
