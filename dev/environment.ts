/** The environment of the programs that are started here, and how a terminal gets it. */
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

/** A text as a shell reads it back, whatever is in it. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The lines with which a shell takes these variables. */
export function exportsOf(env: Record<string, string>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}=${shellQuoted(value)}`)
    .join('\n');
}

/** Takes variables away that have the values of `exports`: they are those of a start that is over. */
export function forgetExports(exports: string, env: NodeJS.ProcessEnv): void {
  for (const [, name = '', value] of exports.matchAll(/^export (\w+)=(.*)$/gmu)) {
    if (shellQuoted(env[name] ?? '') === value) delete env[name];
  }
}
