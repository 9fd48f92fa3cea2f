import { createServer, type AddressInfo } from 'node:net';

/**
 * A port of 127.0.0.1 that is free now. Another process may take it before it is used, so starting a server on it must
 * be retried.
 */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
