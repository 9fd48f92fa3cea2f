/** Where a program listens. A file of its own, because `ebrc --help` reads it and must not load zod. */
export interface ListenAddress {
  host: string;
  port: number;
}

/** `host:port`, with an IPv6 address in brackets; null for any other text. */
export function parseListenAddress(text: string): ListenAddress | null {
  const parts = /^(\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text);
  const port = Number(parts?.[2]);
  return parts?.[1] && port <= 65_535 ? { host: parts[1].replace(/^\[|\]$/g, ''), port } : null;
}

/** Loopback names and addresses, as they stand in a host name or in `host:port`. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** How a browser or program on this machine writes the host of an address that is listened on. */
export function hostForUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
