import { format } from 'node:util';
import pino, { type DestinationStream, type Logger } from 'pino';
import { allowedFields } from './log-fields';
import { logScope } from './log-scope';
import { maskText } from './mask';
import type { Tracer } from './tracer';

export interface LoggerOptions {
  /** A pino level; `LOG_LEVEL`. */
  level: string;
  /** The program's name in each line; default `ebrc`. */
  name?: string;
  /** Where the ids of the current trace come from; left out: lines have none. */
  tracer?: Pick<Tracer, 'current'>;
  /** Write to standard error instead of standard output: a command's result goes to standard output alone. */
  stderr?: boolean;
  /** Where to write instead of either, for tests. */
  destination?: DestinationStream;
}

/**
 * One JSON line a fact, with the filing, exporter, workflow and trace that it is about. Only the fields of
 * `log-fields.ts` are written, and e-mail addresses, IECs and keys are masked in what is.
 */
export function createLogger({ level, name = 'ebrc', tracer, stderr = false, destination }: LoggerOptions): Logger {
  const options: pino.LoggerOptions = {
    name,
    level,
    // Errors are made ready with the other fields.
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
  // Synchronous: the last lines before an exit are the ones that matter most.
  const logger = pino(options, destination ?? pino.destination({ dest: stderr ? 2 : 1, sync: true }));
  logger.child = () => {
    throw new TypeError('The bindings of a child logger would pass by the allowed fields; use withLogScope.');
  };
  return logger;
}
