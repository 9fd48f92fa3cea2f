import type { Readable, Writable } from 'node:stream';
import { createSpinner } from 'nanospinner';
import { printable, printableJson, printableLines } from '../../domain/text';
import { render, type Layout, type Page } from './page';

/** Of a terminal that does not say how wide it is. */
const DEFAULT_COLUMNS = 80;

/** Where the command line reads and writes; tests pass their own. */
export interface Streams {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number; hasColors?: () => boolean };
  stderr: Writable & { isTTY?: boolean };
}

/**
 * The only place that writes for the user. In JSON mode stdout gets one document and nothing else. Most of the output
 * contains external text, so characters that control a terminal are removed.
 */
export interface Terminal extends Streams {
  json: boolean;
  /** The result: `document` in JSON mode, `page` for people. */
  result(document: unknown, page: () => Page): void;
  /** A remark for people, on stderr. */
  note(message: string): void;
  progress(): Progress;
}

/** Progress on stderr: a spinner on a terminal, otherwise a line for each change. */
interface Progress {
  say(text: string): void;
  /** Removes the spinner; call it before anything else is written. */
  stop(): void;
}

export function createTerminal({ stdin, stdout, stderr }: Streams, json: boolean): Terminal {
  let running: Progress | undefined;
  return {
    stdin,
    stdout,
    stderr,
    json,
    result(document, page) {
      running?.stop();
      const printed = json ? printableJson(document) : render(page(), layoutOf(stdout));
      stdout.write(printed.endsWith('\n') ? printed : `${printed}\n`);
    },
    note(message) {
      running?.stop();
      stderr.write(`${printableLines(message)}\n`);
    },
    progress() {
      // The spinner draws only if standard output is a terminal too; otherwise it would print every frame.
      running = stderr.isTTY && stdout.isTTY ? spinner(stderr) : lines(stderr);
      return running;
    },
  };
}

/** A terminal says how wide it is, and whether it has colours (NO_COLOR is heard). */
function layoutOf(stdout: Streams['stdout']): Layout {
  if (!stdout.isTTY) return { width: null, colour: false };
  return { width: stdout.columns || DEFAULT_COLUMNS, colour: stdout.hasColors?.() ?? false };
}

function lines(stderr: Writable): Progress {
  let last = '';
  return {
    say(text) {
      if (text === last) return;
      last = text;
      stderr.write(`${new Date().toTimeString().slice(0, 8)} ${printable(text)}\n`);
    },
    stop: () => undefined,
  };
}

function spinner(stderr: Writable): Progress {
  let running: ReturnType<typeof createSpinner> | undefined;
  return {
    say(message) {
      const text = printable(message);
      if (running) running.update({ text });
      else running = createSpinner(text, { stream: stderr as NodeJS.WriteStream }).start();
    },
    stop() {
      running?.clear();
      running?.stop();
      running = undefined;
    },
  };
}
