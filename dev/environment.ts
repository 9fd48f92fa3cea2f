/** The environment of the programs that are started here. */
import { loadConfig, VARIABLES, type Environment } from '../src/config/config';

/** The database of the environment, if it names one. @throws ConfigError if it cannot be used */
export function databaseOfEnvironment(env: Environment = process.env): string | undefined {
  return env['DATABASE_URL']?.trim() || env['DATABASE_URL_FILE']?.trim()
    ? loadConfig(env, { need: ['database'] }).databaseUrl
    : undefined;
}

/**
 * The environment for a child process: that of this process without the variables of this project, of Temporal, of
 * PostgreSQL and of OpenTelemetry, plus `variables`. The demo must not file with a key that happens to be set in the
 * user's terminal.
 */
export function environmentFor(
  variables: Record<string, string>,
  env: Environment = process.env,
): Record<string, string | undefined> {
  const foreign = Object.entries(env).filter(
    ([name]) => !(name.replace(/_FILE$/, '') in VARIABLES) && !/^(EBRC_|TEMPORAL_|OTEL_|PG[A-Z]+$)/.test(name),
  );
  return { ...Object.fromEntries(foreign), ...variables };
}
