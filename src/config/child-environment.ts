import type { Environment } from './reader';
import { VARIABLES } from './variables';

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
    ([name]) => !(name in VARIABLES) && !/^(EBRC_|TEMPORAL_|OTEL_|PG[A-Z]+$)/.test(name),
  );
  return { ...Object.fromEntries(foreign), ...variables };
}
