import { ERROR_KIND_NAMES, type ErrorKind } from './error-kinds';
import { OPERATIONS, type Operation } from './operations';
import { MINUTE_MS as MINUTE } from '../dates';

const SECOND = 1_000;

/** The first retry comes after `initialMs`; each interval is `factor` times longer, up to `maxMs`. */
export interface Schedule {
  initialMs: number;
  factor: number;
  maxMs: number;
}

export type Decision =
  | { action: 'retry'; schedule: Schedule }
  /** `activates_at` and `fuse` end at a known time; the others are polled. */
  | {
      action: 'wait';
      until: 'activates_at' | 'fuse' | 'rate_window' | 'certificate' | 'acknowledgement';
      schedule: Schedule;
    }
  /** `state`: the attention state that shows who must act before the call can succeed. */
  | { action: 'pause'; state: 'needs_credentials' | 'needs_access'; schedule: Schedule }
  | { action: 'refuse' }
  | { action: 'unknown' }
  | { action: 'resend'; schedule: Schedule };

const SHORT: Schedule = { initialMs: 5 * SECOND, factor: 2, maxMs: 5 * MINUTE };
const PORTAL: Schedule = { initialMs: 30 * SECOND, factor: 2, maxMs: 15 * MINUTE };
const ODD: Schedule = { initialMs: MINUTE, factor: 2, maxMs: 30 * MINUTE };
/** A filing checks for newer credentials at this interval, in addition to the signal that announces them. */
export const CREDENTIALS: Schedule = { initialMs: 15 * MINUTE, factor: 1, maxMs: 15 * MINUTE };
/** While an onboarding waits for a person, it checks whether the client was validated elsewhere. */
export const CREDENTIALS_OF_A_PERSON: Schedule = { initialMs: 10 * SECOND, factor: 2, maxMs: 360 * MINUTE };
/** Notices a newly signed agreement soon, and does not retry a revoked key often. */
export const ACCESS: Schedule = { initialMs: MINUTE, factor: 2, maxMs: 15 * MINUTE };
const RESEND: Schedule = { initialMs: 30 * SECOND, factor: 2, maxMs: 15 * MINUTE };
const RATE: Schedule = { initialMs: MINUTE, factor: 1, maxMs: MINUTE };
export const ACTIVATION: Schedule = { initialMs: MINUTE, factor: 2, maxMs: 30 * MINUTE };
const FUSE: Schedule = { initialMs: 15 * MINUTE, factor: 1, maxMs: 15 * MINUTE };
const CERTIFICATE: Schedule = { initialMs: 2 * MINUTE, factor: 2, maxMs: 30 * MINUTE };
const ACKNOWLEDGEMENT: Schedule = { initialMs: 2 * MINUTE, factor: 2, maxMs: 15 * MINUTE };
/** A failed portal login is retried slowly, because each try may count against the account. */
const LOGIN: Schedule = { initialMs: MINUTE, factor: 2, maxMs: 15 * MINUTE };

const refuse = { action: 'refuse' } as const satisfies Decision;
const unknown: Decision = { action: 'unknown' };
const resend: Decision = { action: 'resend', schedule: RESEND };
const login: Decision = { action: 'retry', schedule: LOGIN };
const needsCredentials = {
  action: 'pause',
  state: 'needs_credentials',
  schedule: CREDENTIALS,
} as const satisfies Decision;
const needsAccess: Decision = { action: 'pause', state: 'needs_access', schedule: ACCESS };

/** All operations but the two submissions. A repeated creation finds the e-mail taken, and adopts the client. */
const READS = {
  not_sent: { action: 'retry', schedule: SHORT },
  // A kind of submissions only; its outcome is settled wherever it occurs.
  outcome_unknown: unknown,
  timeout: { action: 'retry', schedule: SHORT },
  connection_lost: { action: 'retry', schedule: SHORT },
  rate_limited: { action: 'wait', until: 'rate_window', schedule: RATE },
  unauthorized: needsAccess,
  forbidden: needsAccess,
  validation_failed: refuse,
  workbook_rejected: refuse,
  email_taken: refuse,
  dgft_username_taken: refuse,
  credentials_already_set: refuse,
  credentials_rejected: needsCredentials,
  credential_check_failed: { action: 'retry', schedule: LOGIN },
  credential_fuse: { action: 'wait', until: 'fuse', schedule: FUSE },
  credentials_invalid: needsCredentials,
  account_locked: needsCredentials,
  credentials_missing: needsCredentials,
  activation_pending: { action: 'wait', until: 'activates_at', schedule: ACTIVATION },
  customer_not_found: refuse,
  request_not_found: { action: 'wait', until: 'acknowledgement', schedule: ACKNOWLEDGEMENT },
  certificate_not_ready: { action: 'wait', until: 'certificate', schedule: CERTIFICATE },
  portal_unavailable: { action: 'retry', schedule: PORTAL },
  server_error: { action: 'retry', schedule: PORTAL },
  bad_answer: { action: 'retry', schedule: ODD },
  window_too_wide: refuse,
  not_found: refuse,
  conflict: refuse,
  too_large: refuse,
  refused: refuse,
  attempt_closed: refuse,
  ledger_unavailable: { action: 'retry', schedule: SHORT },
  cancelled: refuse,
  extraction_unconfigured: refuse,
  unexpected: { action: 'retry', schedule: ODD },
} as const satisfies Readonly<Record<ErrorKind, Decision>>;

/** The kinds with such a decision, as those that end a call (`refuse`), as types for exhaustive tables. */
export type KindWith<D> = { [K in ErrorKind]: (typeof READS)[K] extends D ? K : never }[ErrorKind];

/** What differs for submissions. Only the workflow repeats one (`resend`): a repeat may be a second certificate. */
const SUBMISSIONS: Readonly<Record<KindWith<{ action: 'retry' | 'wait' }> | 'cancelled' | 'attempt_closed', Decision>> =
  {
    not_sent: resend,
    rate_limited: resend,
    credential_fuse: { action: 'wait', until: 'fuse', schedule: FUSE },
    ledger_unavailable: resend,
    // The attempt was closed because nothing was written; the workflow reads the attempt and continues.
    attempt_closed: resend,
    // Only before the first byte; after it the kind is outcome_unknown.
    cancelled: resend,
    timeout: unknown,
    connection_lost: unknown,
    portal_unavailable: unknown,
    server_error: unknown,
    bad_answer: unknown,
    // A defect may occur after the write, so the attempt's mark decides and not the error.
    unexpected: unknown,
    // Documented for other endpoints only, so they prove nothing about a submission.
    request_not_found: unknown,
    certificate_not_ready: unknown,
    credential_check_failed: unknown,
    activation_pending: { action: 'wait', until: 'activates_at', schedule: ACTIVATION },
  };

const PER_OPERATION: Partial<Record<Operation, Partial<Record<ErrorKind, Decision>>>> = {
  checkCredentials: { timeout: login, connection_lost: login, portal_unavailable: login, server_error: login },
};

/** What to do about a failure of `kind` in `operation`. Every retry in the project follows this table. */
export function decide(operation: Operation, kind: ErrorKind): Decision {
  const differs: Partial<Readonly<Record<ErrorKind, Decision>>> = OPERATIONS[operation].submits ? SUBMISSIONS : {};
  const base = differs[kind] ?? READS[kind];
  return PER_OPERATION[operation]?.[kind] ?? base;
}

/** Why a failure of `kind` pauses a filing or an onboarding; null if it does not. */
export function pauseReasonOf(kind: ErrorKind | null): 'credentials' | 'access' | 'activation' | null {
  const decision = kind === null ? null : READS[kind];
  if (decision?.action === 'pause') return decision.state === 'needs_credentials' ? 'credentials' : 'access';
  return decision?.action === 'wait' && decision.until === 'activates_at' ? 'activation' : null;
}

/** The kinds of missing or bad portal credentials. */
export const CREDENTIAL_KINDS: readonly ErrorKind[] = ERROR_KIND_NAMES.filter(
  (kind) => pauseReasonOf(kind) === 'credentials',
);

/** The delay (ms) before retry number `attempt`, from 1. */
export function delayMs(schedule: Schedule, attempt: number): number {
  // Limit the exponent to keep the result finite; 2 ** 1000 is far beyond any maximum.
  const grown = schedule.initialMs * schedule.factor ** Math.min(Math.max(attempt, 1) - 1, 1_000);
  return Math.min(grown, schedule.maxMs);
}
