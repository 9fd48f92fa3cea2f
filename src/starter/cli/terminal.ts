import { once } from 'node:events';
import { type Readable, Writable } from 'node:stream';
import { createSpinner } from 'nanospinner';
import { printable, printableJson } from '../../domain/text';
import { inLocalTime, prose, render, type Layout, type Page } from './page';
import { createInterface } from 'node:readline/promises';
import type { Finding } from '../../domain/rules/finding';
import { refusal, RefusedError, UsageError } from '../errors';
import { describeProblems } from './texts';
import { createInterface as readlineOf } from 'node:readline';

const DEFAULT_COLUMNS = 80;

/** The command line's streams; tests pass their own. */
export interface Streams {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number; hasColors?: () => boolean };
  stderr: Writable & { isTTY?: boolean; columns?: number };
}

/** The only module that writes for the user. It removes terminal control characters from external text. */
export interface Terminal extends Streams {
  json: boolean;
  /** The result: `document` in JSON mode, `page` for people. */
  result(document: unknown, page: () => Page): void;
  /** Writes a list while it is read: one JSON document, JSON `lines`, or a `page` each. @returns the number of items */
  pages<T>(pages: AsyncIterable<readonly T[]>, page: (items: readonly T[]) => Page, lines?: boolean): Promise<number>;
  /** Whether a part of the result was written. If so, it is neither repeated nor followed by another document. */
  hasPrinted(): boolean;
  note(message: string): void;
  progress(): Spinner;
  /** Ends progress for good, as `result` does. */
  end(): void;
}

/** Progress on stderr: a spinner on a terminal, otherwise a line for each change. */
interface Spinner {
  say(text: string): void;
  /** Removes the spinner. Call it before anything else is written. */
  stop(): void;
}

export function createTerminal({ stdin, stdout, stderr }: Streams, json: boolean): Terminal {
  let running: Spinner | undefined;
  let lastNote = '';
  let printed = false;
  let ended = false;
  const print = (text: string): boolean => {
    printed = true;
    return stdout.write(text);
  };
  const end = () => {
    running?.stop();
    ended = true;
  };
  return {
    stdin,
    stdout,
    stderr,
    json,
    result(document, page) {
      end();
      const text = json ? printableJson(document) : render(page(), layoutOf(stdout));
      print(text.endsWith('\n') ? text : `${text}\n`);
    },
    async pages(pages, page, jsonLines = false) {
      let count = 0;
      const write = async (text: string) => {
        if (!print(text)) await once(stdout, 'drain');
      };
      const textOf = <T>(items: readonly T[], toPage: (of: readonly T[]) => Page): string => {
        if (jsonLines) return items.map((item) => `${printableJson(item, 0)}\n`).join('');
        if (!json) return `${count === 0 ? '' : '\n'}${render(toPage(items), layoutOf(stdout))}\n`;
        return items.map((item, nth) => `${count + nth === 0 ? '[\n' : ',\n'}${printableJson(item)}`).join('');
      };
      for await (const items of pages) {
        running?.stop();
        if (items.length > 0) await write(textOf(items, page));
        count += items.length;
      }
      if (jsonLines) return count;
      if (json) await write(count === 0 ? '[]\n' : '\n]\n');
      else if (count === 0) await write(textOf([], page));
      return count;
    },
    hasPrinted: () => printed,
    end,
    note(message) {
      running?.stop();
      // The note was already printed while the command waited.
      if (message === lastNote) return;
      lastNote = message;
      stderr.write(`${prose(message, widthOf(stderr))}\n`);
    },
    progress() {
      // Without a terminal on standard output too, the spinner would print every frame.
      const shown = stderr.isTTY && stdout.isTTY ? spinner(stderr) : lines(stderr);
      running = shown;
      // Late progress would start a spinner that nobody stops, and the program would not end.
      return { say: (text) => ended || shown.say(text), stop: () => shown.stop() };
    },
  };
}

/** The terminal's width, and whether it has colours (respects NO_COLOR). */
function layoutOf(stdout: Streams['stdout']): Layout {
  return { width: widthOf(stdout), colour: stdout.isTTY ? (stdout.hasColors?.() ?? false) : false };
}

/** Null for a pipe or a file. */
const widthOf = ({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number | null =>
  isTTY ? columns || DEFAULT_COLUMNS : null;

function lines(stderr: Writable): Spinner {
  let last = '';
  return {
    say(text) {
      if (text === last) return;
      last = text;
      stderr.write(`${new Date().toTimeString().slice(0, 8)} ${inLocalTime(printable(text))}\n`);
    },
    stop: () => undefined,
  };
}

function spinner(stderr: Streams['stderr']): Spinner {
  let running: ReturnType<typeof createSpinner> | undefined;
  // The spinner divides by the width to count the lines to remove. A terminal that does not tell its width has 0, with
  // which it would remove lines for ever.
  const stream = {
    write: (text: string) => stderr.write(text),
    get columns() {
      return widthOf(stderr);
    },
  } as unknown as NodeJS.WriteStream;
  return {
    say(message) {
      const text = inLocalTime(printable(message));
      if (running) running.update({ text });
      else running = createSpinner(text, { stream }).start();
    },
    stop() {
      running?.clear();
      running?.stop();
      running = undefined;
    },
  };
}

/** Rows with serious warnings: `--strict` refuses them, a terminal asks, else they are filed. @throws RefusedError */
export function doubtsOf(terminal: Terminal, strict: boolean): ((doubtful: Finding[]) => Promise<void>) | undefined {
  if (strict)
    return (doubtful) =>
      Promise.reject(new RefusedError(doubtful.map((finding) => ({ ...finding, severity: 'error' }))));
  const { stdin, stdout, stderr, json } = terminal;
  if (json || !stdin.isTTY || !stdout.isTTY) return undefined;
  return async (doubtful) => {
    terminal.note(describeProblems(doubtful));
    const reader = createInterface({ input: stdin, output: stderr });
    try {
      const answer = await reader.question(
        'Such rows are usually rejected, or certified twice. File them anyway? [y/N] ',
      );
      if (/^\s*y(es)?\s*$/iu.test(answer)) return;
    } finally {
      reader.close();
    }
    throw refusal('not_confirmed', 'You did not confirm the warnings. Correct the rows and file again.');
  };
}

const NO_TERMINAL =
  'There is no terminal to ask for the password. Give it on standard input with --password-stdin, for instance `… --password-stdin < password.txt`.';

/**
 * Reads a portal password from standard input or a hidden prompt. Other users could see an argument.
 * @throws UsageError if there is no password, or no terminal
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
  // readline echoes its input, so its output is discarded.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = readlineOf({ input: stdin, output: nowhere, terminal: true });
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
