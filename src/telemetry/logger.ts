import { format } from 'node:util';
import pino, { type DestinationStream, type Logger } from 'pino';
import { allowedFields, maskText } from './log-fields';
import type { Tracer } from './tracer';
import { AsyncLocalStorage } from 'node:async_hooks';

export interface LogScope {
  filingId?: string;
  exporterId?: string;
  workflowId?: string;
  activity?: string;
}

const current = new AsyncLocalStorage<LogScope>();

/** Runs `work` with these ids in its log lines. */
export function withLogScope<T>(scope: LogScope, work: () => T): T {
  return current.run(scope, work);
}

function logScope(): LogScope {
  return current.getStore() ?? {};
}

/** Logs one JSON line per event (on a terminal readable text), with masked fields of `log-fields.ts` only. */
export function createLogger({
  level,
  name = 'ebrc',
  tracer,
  stderr = false,
  destination,
}: {
  level: string;
  /** The program's name in each line; default `ebrc`. */
  name?: string;
  /** Adds the ids of the current trace to the lines. */
  tracer?: Pick<Tracer, 'current'>;
  /** Write to standard error, because a command's standard output is only for its result. */
  stderr?: boolean;
  /** Overrides the output, for tests. */
  destination?: DestinationStream;
}): Logger {
  const options: pino.LoggerOptions = {
    name,
    level,
    // `allowedFields` serializes errors.
    serializers: { err: (fields: unknown) => fields },
    hooks: {
      logMethod(given, write) {
        const [first, ...rest] = given as unknown[];
        const fields = first instanceof Error ? { err: first } : typeof first === 'object' ? (first ?? {}) : {};
        const words = typeof first === 'object' ? rest : [first, ...rest];
        const about = { ...logScope(), ...tracer?.current() };
        const message = words.length > 0 ? [maskText(format(...words))] : [];
        Reflect.apply(write, this, [allowedFields({ ...about, ...fields }), ...message]);
      },
    },
  };
  // Synchronous, because the last lines before an exit must not be lost.
  const output = pino.destination({ dest: stderr ? 2 : 1, sync: true });
  const people = { write: (line: string) => void output.write(`${logLine(line.trimEnd())}\n`) };
  const isTerminal = (stderr ? process.stderr : process.stdout).isTTY;
  const logger = pino(options, destination ?? (isTerminal ? people : output));
  logger.child = () => {
    throw new TypeError('The bindings of a child logger would pass by the allowed fields; use withLogScope.');
  };
  return logger;
}

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: '',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};
/** Fields that a person at a terminal does not need. */
const LEFT_OUT = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err', 'traceId', 'spanId', 'runId']);

/** A JSON log line as readable text: `13:34:50 filing recorded  filingId=F1 outcome=opened`; other text unchanged. */
export function logLine(json: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { level, time, msg, err } = record;
  const details = Object.entries(record)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const reason = (err as { message?: unknown } | undefined)?.message;
  const text = [LEVELS[Number(level)] ?? '', msg, typeof reason === 'string' && reason !== msg ? `(${reason})` : ''];
  const line = [new Date(Number(time)).toTimeString().slice(0, 8), ...text].filter(Boolean).join(' ');
  return [line, details.join(' ')].filter(Boolean).join('  ');
}
