/** An address to listen on. In a file of its own, because `ebrc --help` loads it and must not load zod. */
export interface ListenAddress {
  host: string;
  port: number;
}

/** Parses `host:port`, with an IPv6 address in brackets; null for any other text. */
export function parseListenAddress(text: string): ListenAddress | null {
  const parts = /^(\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text);
  const port = Number(parts?.[2]);
  return parts?.[1] && port <= 65_535 ? { host: parts[1].replace(/^\[|\]$/g, ''), port } : null;
}

/** Whether a host is loopback; an IPv6 address may have brackets. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host);
}

/** The host of a listen address as it appears in a URL on this machine. */
export function hostForUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
