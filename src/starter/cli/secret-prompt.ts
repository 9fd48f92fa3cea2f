import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { UsageError } from '../errors';
import type { Streams } from './terminal';

const NO_TERMINAL =
  'There is no terminal to ask for the password. Give it on standard input with --password-stdin, for instance `… --password-stdin < password.txt`.';

/**
 * Reads a portal password: from standard input with `fromStdin` (without its line end), otherwise from a hidden prompt.
 * Never from an argument, which every user of the machine can see.
 * @throws UsageError if there is none, or no terminal for the prompt
 */
export async function readSecret(
  streams: Pick<Streams, 'stdin' | 'stderr'>,
  { fromStdin, question }: { fromStdin: boolean; question: string },
): Promise<string> {
  const secret = fromStdin ? await readAll(streams.stdin) : await askHidden(streams, question);
  if (secret === '') throw new UsageError('The password is empty.', 'no_password');
  return secret;
}

async function readAll(stdin: Streams['stdin']): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Buffer | string));
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

function askHidden({ stdin, stderr }: Pick<Streams, 'stdin' | 'stderr'>, question: string): Promise<string> {
  if (!stdin.isTTY) throw new UsageError(NO_TERMINAL, 'no_terminal');
  stderr.write(question);
  // readline echoes what is typed, so its output is discarded.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nowhere, terminal: true });
  return new Promise((resolve, reject) => {
    let answered = false;
    reader.once('SIGINT', () => reader.close());
    reader.once('close', () => {
      stderr.write('\n');
      if (!answered) reject(new UsageError('No password was given.', 'no_password'));
    });
    reader.question('', (answer) => {
      answered = true;
      reader.close();
      resolve(answer);
    });
  });
}
