import type { FaultInput } from '../sandbox/faults/fault-schema';

/** The answer of every third submission is lost after it took effect. */
export const LOST_ANSWERS: readonly FaultInput[] = [
  { operation: 'push-irm', kind: 'accept-then-drop', every: 3 },
  { operation: 'bulk-upload', kind: 'accept-then-drop', every: 3 },
];

/**
 * Slow submissions, so that a killed worker leaves some in the middle: after they took effect, and before, when they
 * still take effect although their caller is gone.
 */
export const SLOW_SUBMISSIONS: readonly FaultInput[] = [
  { operation: 'push-irm', kind: 'slow', delayMs: 1_500, probability: 0.3, rngSeed: 31 },
  { operation: 'push-irm', kind: 'slow', delayMs: 1_500, wait: 'before', probability: 0.3, rngSeed: 32 },
];

/** Submissions that fail in ways that leave the outcome open, and reads that have to be repeated. */
export const BAD_NETWORK: readonly FaultInput[] = [
  { operation: 'push-irm', kind: 'reset-before-accept', probability: 0.03, rngSeed: 11 },
  { operation: 'push-irm', kind: 'accept-then-reset', probability: 0.03, rngSeed: 12 },
  { operation: 'push-irm', kind: '502-with-code', probability: 0.03, rngSeed: 13 },
  { operation: 'push-irm', kind: '502-bare', process: true, probability: 0.03, rngSeed: 14 },
  { operation: 'push-irm', kind: 'hang', process: true, probability: 0.02, rngSeed: 15 },
  { operation: 'push-irm', kind: 'truncated-json', probability: 0.03, rngSeed: 16 },
  { operation: 'status', kind: '502-with-code', probability: 0.03, rngSeed: 17 },
  { operation: 'status', kind: 'accept-then-reset', probability: 0.03, rngSeed: 18 },
  { operation: 'fetch-details', kind: 'accept-then-drop', probability: 0.03, rngSeed: 19 },
  { operation: 'download-pdf', kind: 'truncated-pdf', probability: 0.02, rngSeed: 20 },
  { operation: 'download-pdf', kind: 'reset-before-accept', probability: 0.03, rngSeed: 21 },
];
