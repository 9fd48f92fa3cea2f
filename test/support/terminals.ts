import { PassThrough, Readable } from 'node:stream';
import { createTerminal, type Terminal } from '../../src/starter/cli/terminal';

interface Written {
  stdout: string;
  stderr: string;
}

/** A terminal of the command line that keeps what is written to it; `columns`: somebody sits before it and
 * types `answer`. */
export function keptTerminal({
  json = false,
  columns,
  colours = false,
  answer = '',
}: { json?: boolean; columns?: number; colours?: boolean; answer?: string } = {}): {
  terminal: Terminal;
  written: Written;
} {
  const written: Written = { stdout: '', stderr: '' };
  const stream = (name: keyof Written) => {
    const kept = new PassThrough().on('data', (piece: Buffer) => void (written[name] += piece.toString()));
    return columns === undefined ? kept : Object.assign(kept, { isTTY: true, columns, hasColors: () => colours });
  };
  return {
    terminal: createTerminal(
      {
        stdin: Object.assign(Readable.from([answer]), { isTTY: columns !== undefined }),
        stdout: stream('stdout'),
        stderr: stream('stderr'),
      },
      json,
    ),
    written,
  };
}
