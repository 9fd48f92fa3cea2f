import { createServer, type AddressInfo } from 'node:net';

/**
 * A port of 127.0.0.1 that is free now: the wanted one, if it is. Another process may take it before it is used, so
 * starting a server on it must be retried.
 */
export function freePort(wanted = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => (wanted === 0 ? reject(error) : resolve(freePort())));
    probe.listen(wanted, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
