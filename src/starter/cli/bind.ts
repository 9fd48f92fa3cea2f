import type { ExitCode } from '../errors';
import type { Cli } from './context';

/**
 * Turns what a command does into a commander action: `handler` gets the arguments, the options and what to work with,
 * and answers the exit code (0 where it answers nothing).
 */
export type Bind = <O extends object>(
  handler: (cli: Cli, args: string[], options: O) => Promise<ExitCode | void>,
) => (...parameters: unknown[]) => Promise<void>;
