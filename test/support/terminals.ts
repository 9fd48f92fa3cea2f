import { PassThrough } from 'node:stream';
import { createTerminal, type Terminal } from '../../src/starter/cli/terminal';

interface Written {
  stdout: string;
  stderr: string;
}

/** A terminal of the command line that keeps what is written to it; `columns`: somebody sits before it. */
export function keptTerminal({
  json = false,
  columns,
  colours = false,
}: { json?: boolean; columns?: number; colours?: boolean } = {}): {
  terminal: Terminal;
  written: Written;
} {
  const written: Written = { stdout: '', stderr: '' };
  const stream = (name: keyof Written) => {
    const kept = new PassThrough().on('data', (piece: Buffer) => void (written[name] += piece.toString()));
    return columns === undefined ? kept : Object.assign(kept, { isTTY: true, columns, hasColors: () => colours });
  };
  return {
    terminal: createTerminal({ stdin: new PassThrough(), stdout: stream('stdout'), stderr: stream('stderr') }, json),
    written,
  };
}
