import type { Readable, Writable } from 'node:stream';
import Table from 'cli-table3';
import { createSpinner } from 'nanospinner';
import { printable, printableJson, printableLines } from '../../domain/text';

/** Where the command line reads and writes; tests pass their own. */
export interface Streams {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
}

/**
 * The only place that writes for the user. In JSON mode stdout gets one document and nothing else. Most of the output
 * contains external text, so characters that control a terminal are removed.
 */
export interface Terminal extends Streams {
  json: boolean;
  /** The result: `document` in JSON mode, `text` for people. */
  result(document: unknown, text: () => string): void;
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
    result(document, text) {
      running?.stop();
      const printed = json ? printableJson(document) : printableLines(text());
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

function lines(stderr: Writable): Progress {
  let last = '';
  return {
    say(text) {
      if (text === last) return;
      last = text;
      stderr.write(`${new Date().toISOString().slice(11, 19)} ${printable(text)}\n`);
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

/** A table for people; missing values are empty cells. */
export function table(head: string[], rows: readonly (readonly unknown[])[]): string {
  const output = new Table({ head, style: { head: [], border: [], compact: true } });
  for (const row of rows) output.push(row.map(cell));
  return output.toString();
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

/** `name  value` lines, names aligned; lines without a value are left out. */
export function fields(pairs: readonly (readonly [string, unknown])[]): string {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`).join('\n');
}
