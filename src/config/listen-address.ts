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
