/** Bounds of one request and of all connections. What is beyond is refused, and the others are served. */

/** 6 MB: a workbook of the service has 5 MB at most. */
export const MAX_BODY_BYTES = 6 * 1024 * 1024;

/** Bodies that are being read or worked on, and answers that nobody has taken yet, of all requests together. */
export const MEMORY_BYTES = 64 * 1024 * 1024;

/** The longest part of a path: an encoded reference of 200 characters. */
export const MAX_PARAM_LENGTH = 2_000;

export interface Bounds {
  /** A whole request has to arrive within this time, its headers within a third of it. */
  requestWithinMs: number;
  /** A connection on which nothing is read or written for this long is closed; longer than the longest wait. */
  idleMs: number;
  /** Connections of one process; an idle one takes 6 KB, one that waits 15 KB. */
  connections: number;
  /** Of one principal. */
  requestsPerSecond: number;
}

export const BOUNDS: Bounds = {
  requestWithinMs: 30_000,
  idleMs: 75_000,
  connections: 12_000,
  requestsPerSecond: 2_000,
};

/** The longest `Prefer: wait`, in seconds. */
export const LONGEST_WAIT_S = 60;
