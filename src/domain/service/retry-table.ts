import { ERROR_KIND_NAMES, type ErrorKind } from './error-kinds';
import { OPERATIONS, type Operation } from './operations';
import { MINUTE_MS as MINUTE } from '../dates';

const SECOND = 1_000;

/** The first retry after `initialMs`, each interval `factor` times longer, up to `maxMs`. */
export interface Schedule {
  initialMs: number;
  factor: number;
  maxMs: number;
}

export type Decision =
  | { action: 'retry'; schedule: Schedule }
  /** `activates_at` and `fuse` end at a known time; the others are checked repeatedly. */
  | {
      action: 'wait';
      until: 'activates_at' | 'fuse' | 'rate_window' | 'certificate' | 'acknowledgement';
      schedule: Schedule;
    }
  /** `state` is the attention state that shows who must act before the call can continue. */
  | { action: 'pause'; state: 'needs_credentials' | 'needs_access'; schedule: Schedule }
  | { action: 'refuse' }
  | { action: 'unknown' }
  | { action: 'resend'; schedule: Schedule };

const SHORT: Schedule = { initialMs: 5 * SECOND, factor: 2, maxMs: 5 * MINUTE };
const PORTAL: Schedule = { initialMs: 30 * SECOND, factor: 2, maxMs: 15 * MINUTE };
const ODD: Schedule = { initialMs: MINUTE, factor: 2, maxMs: 30 * MINUTE };
/** A filing checks for newer credentials at this interval, although it is also notified of them. */
export const CREDENTIALS: Schedule = { initialMs: 15 * MINUTE, factor: 1, maxMs: 15 * MINUTE };
/** An onboarding waits for a person; in the meantime the client may be validated elsewhere. */
export const CREDENTIALS_OF_A_PERSON: Schedule = { initialMs: 15 * MINUTE, factor: 2, maxMs: 360 * MINUTE };
/** An agreement that has just been signed is noticed soon; a revoked key is not retried often. */
export const ACCESS: Schedule = { initialMs: MINUTE, factor: 2, maxMs: 15 * MINUTE };
const RESEND: Schedule = { initialMs: 30 * SECOND, factor: 2, maxMs: 15 * MINUTE };
const RATE: Schedule = { initialMs: MINUTE, factor: 1, maxMs: MINUTE };
export const ACTIVATION: Schedule = { initialMs: MINUTE, factor: 2, maxMs: 30 * MINUTE };
const FUSE: Schedule = { initialMs: 15 * MINUTE, factor: 1, maxMs: 15 * MINUTE };
const CERTIFICATE: Schedule = { initialMs: 2 * MINUTE, factor: 2, maxMs: 30 * MINUTE };
const ACKNOWLEDGEMENT: Schedule = { initialMs: 2 * MINUTE, factor: 2, maxMs: 15 * MINUTE };
/** A portal login that fails is retried only a few times, because each try may count against the account. */
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

/** All but the two submissions. Create too: its repeat finds the e-mail taken, and the client is adopted. */
const READS = {
  not_sent: { action: 'retry', schedule: SHORT },
  // Every read can be repeated. The kind belongs to submissions, and its outcome is settled wherever it occurs.
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
  ledger_put_back: { action: 'retry', schedule: RATE },
  documents_unavailable: { action: 'retry', schedule: RATE },
  cancelled: refuse,
  extraction_unconfigured: refuse,
  unexpected: { action: 'retry', schedule: ODD },
} as const satisfies Readonly<Record<ErrorKind, Decision>>;

type KindWith<D> = { [K in ErrorKind]: (typeof READS)[K] extends D ? K : never }[ErrorKind];
/** The kinds that end a call, and those that stand for bad portal credentials: tables over them name each. */
export type RefusalKind = KindWith<{ action: 'refuse' }>;
export type CredentialKind = KindWith<{ action: 'pause'; state: 'needs_credentials' }>;

/** Only the workflow sends again; any other repeat is decided here: it may be a second certificate. */
const SUBMISSIONS: Readonly<Record<KindWith<{ action: 'retry' | 'wait' }> | 'cancelled' | 'attempt_closed', Decision>> =
  {
    not_sent: resend,
    rate_limited: resend,
    credential_fuse: { action: 'wait', until: 'fuse', schedule: FUSE },
    ledger_unavailable: resend,
    // Waited for before the next attempt: see `onceLedgerIsWhole` in src/workflows/filing/pauses.ts.
    ledger_put_back: resend,
    documents_unavailable: resend,
    // The code that closed the attempt knows that nothing was written; the workflow reads the marks and continues from
    // there.
    attempt_closed: resend,
    // Before the first byte only; after it the kind is outcome_unknown.
    cancelled: resend,
    timeout: unknown,
    connection_lost: unknown,
    portal_unavailable: unknown,
    server_error: unknown,
    bad_answer: unknown,
    // A defect may occur after the write: the marks decide, not the error.
    unexpected: unknown,
    // The answers of other endpoints prove nothing about this one.
    request_not_found: unknown,
    certificate_not_ready: unknown,
    credential_check_failed: unknown,
    activation_pending: { action: 'wait', until: 'activates_at', schedule: ACTIVATION },
  };

const PER_OPERATION: Partial<Record<Operation, Partial<Record<ErrorKind, Decision>>>> = {
  checkCredentials: { timeout: login, connection_lost: login, portal_unavailable: login, server_error: login },
};

/** What is done about a failure of `kind` in `operation`: the one table that every retry in the project follows. */
export function decide(operation: Operation, kind: ErrorKind): Decision {
  const differs: Partial<Readonly<Record<ErrorKind, Decision>>> = OPERATIONS[operation].submits ? SUBMISSIONS : {};
  const base = differs[kind] ?? READS[kind];
  return PER_OPERATION[operation]?.[kind] ?? base;
}

/** How a failure of `kind` pauses a filing or an onboarding; null if it does not pause it. */
export function pauseReasonOf(kind: ErrorKind | null): 'credentials' | 'access' | 'activation' | null {
  const decision = kind === null ? null : READS[kind];
  if (decision?.action === 'pause') return decision.state === 'needs_credentials' ? 'credentials' : 'access';
  return decision?.action === 'wait' && decision.until === 'activates_at' ? 'activation' : null;
}

/** The kinds for portal credentials that are missing or do not work. */
export const CREDENTIAL_KINDS: readonly ErrorKind[] = ERROR_KIND_NAMES.filter(
  (kind) => pauseReasonOf(kind) === 'credentials',
);

/** The pause before repeat number `attempt` (from 1), in ms. */
export function delayMs(schedule: Schedule, attempt: number): number {
  // The exponent is limited, so that long waits never become NaN; 2 ** 1000 is finite and far beyond any maximum.
  const grown = schedule.initialMs * schedule.factor ** Math.min(Math.max(attempt, 1) - 1, 1_000);
  return Math.min(grown, schedule.maxMs);
}
