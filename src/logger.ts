import pino, { type DestinationStream, type Logger } from 'pino';

/** Fields that are never written, wherever they stand in the first three levels of an object. */
const SECRET_FIELDS = [
  '"x-api-key"',
  'apiKey',
  'password',
  'dgftPassword',
  'authorization',
  'databaseUrl',
  'encryptionKeys',
];

const SECRET_PATHS = SECRET_FIELDS.flatMap((field) => {
  const inside = field.startsWith('"') ? `[${field}]` : `.${field}`;
  return [field.startsWith('"') ? `[${field}]` : field, `*${inside}`, `*.*${inside}`];
});

export interface LoggerOptions {
  /** A pino level; `LOG_LEVEL`. */
  level: string;
  /** The program's name in each line; default `ebrc`. */
  name?: string;
  /** Write to standard error instead of standard output: a command's result goes to standard output alone. */
  stderr?: boolean;
  /** Where to write instead of either, for tests. */
  destination?: DestinationStream;
}

/**
 * One JSON line per event. Passwords and keys are replaced by `[redacted]`, also when somebody logs a whole request by
 * mistake.
 */
export function createLogger({ level, name = 'ebrc', stderr = false, destination }: LoggerOptions): Logger {
  const options = { name, level, redact: { paths: SECRET_PATHS, censor: '[redacted]' } };
  // Synchronous: the last lines before an exit are the ones that matter most.
  return pino(options, destination ?? pino.destination({ dest: stderr ? 2 : 1, sync: true }));
}
