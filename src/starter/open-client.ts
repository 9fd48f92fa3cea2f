import { Readable, Writable } from 'node:stream';
import type { Environment } from '../config/config';
import type { EbrcClient } from './client';
import { createCli } from './cli/context';
import { createTerminal } from './cli/terminal';

export interface OpenEbrcClientOptions {
  /** What the command line would say on the way, such as that it waits for PostgreSQL; default: nothing is done. */
  onNote?: (text: string) => void;
}

export type OpenEbrcClient = EbrcClient & { close(): Promise<void> };

/**
 * The typed client over the servers of the environment, as the command line opens them; `EBRC_TOKEN` is who answers.
 * @throws ConfigError with every wrong variable; UnreachableError
 */
export async function openEbrcClient(
  env?: Environment,
  { onNote = () => undefined }: OpenEbrcClientOptions = {},
): Promise<OpenEbrcClient> {
  const written = new Writable({
    write(chunk: Buffer, _encoding, done) {
      onNote(chunk.toString().trimEnd());
      done();
    },
  });
  const cli = createCli(createTerminal({ stdin: Readable.from([]), stdout: written, stderr: written }, true), { env });
  try {
    return { ...(await cli.client()), close: () => cli.close() };
  } catch (error) {
    await cli.close();
    throw error;
  }
}
