import type { ExitCode } from '../errors';
import type { Cli } from './context';

/**
 * Turns a command's handler into a commander action. `handler` gets the arguments, the options and its dependencies,
 * and returns the exit code (0 if it returns nothing).
 */
export type Bind = <O extends object>(
  handler: (cli: Cli, args: string[], options: O) => Promise<ExitCode | void>,
) => (...parameters: unknown[]) => Promise<void>;
