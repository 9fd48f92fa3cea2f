import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Span, Telemetry, Tracer } from './open-telemetry';

export type { Span, SpanAttributes, Tracer } from './open-telemetry';

const SILENT: Span = { set: () => undefined };

/** The tracer of programs without OTEL_EXPORTER_OTLP_ENDPOINT, which measures nothing. */
export const NO_TRACES: Tracer = {
  span: (_name, _attributes, work) => work(SILENT),
  current: () => null,
};

/** Loads telemetry if an endpoint is given; null otherwise. */
export async function loadTelemetry(
  endpoint: string | undefined,
  options: { service: string; onLost?: (reason: string) => void },
): Promise<Telemetry | null> {
  if (endpoint === undefined) return null;
  const [{ startTelemetry }, text] = await Promise.all([
    import('./open-telemetry.js'),
    readFile(join(__dirname, '..', '..', 'package.json'), 'utf8'),
  ]);
  const { version } = JSON.parse(text) as { version: string };
  return startTelemetry({ endpoint, version, ...options });
}
