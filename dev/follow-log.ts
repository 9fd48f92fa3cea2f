import { open, stat } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';

const LOOK_EVERY_MS = 300;

/** Calls `onLine` for every line that is added to a file from now on, until `stop` is called. */
export async function followLog(file: string, onLine: (line: string) => void): Promise<{ stop(): void }> {
  let at = (await stat(file)).size;
  let rest = '';
  // A character may be half written when the file is read.
  const decoder = new StringDecoder();
  const look = async () => {
    const { size } = await stat(file);
    if (size <= at) return;
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - at), 0, size - at, at);
      at += bytesRead;
      const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
    } finally {
      await handle.close();
    }
  };
  let looking = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(look).catch(() => undefined);
  }, LOOK_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}
