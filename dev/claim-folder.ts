import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Claims a folder for this process until it ends, in every case: emptying a folder in which another run works would
 * delete the data of its servers. The claim is a socket on which this process listens, so a dead process holds no
 * claim.
 * @throws Error if another process has claimed it
 */
export async function claimFolder(folder: string): Promise<{ stop(): Promise<void> }> {
  const address = addressOf(folder);
  let server = await listen(address);
  // Elsewhere than on Linux a process that was killed leaves the file of its socket.
  if (!server && address.endsWith('.sock') && !(await isAnswered(address))) {
    await rm(address, { force: true });
    server = await listen(address);
  }
  if (!server) {
    throw new Error(
      `Another run uses ${resolve(folder)}, and this one would delete its data. Stop that one first (Ctrl-C there).`,
    );
  }
  return { stop: () => new Promise((done) => void server.close(() => done())) };
}

/** Short, because the path of a socket may have only about a hundred characters. On Linux a name that is no file. */
function addressOf(folder: string): string {
  const name = `ebrc-${createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 24)}`;
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
}

/** Null where the address is taken. */
function listen(address: string): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy()).unref();
  return new Promise((done, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? done(null) : fail(error)));
    server.listen(address, () => done(server));
  });
}

function isAnswered(address: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(address, () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}
