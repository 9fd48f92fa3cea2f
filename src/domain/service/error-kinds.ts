/** All ways in which a call can fail. The kind is the failure `type` that workflows branch on; see `retry-table.ts`. */
export const ERROR_KINDS = {
  not_sent: 'Nothing of the request was written: connection refused, name or TLS failure, lost before the first byte.',
  outcome_unknown:
    'A submission was written, or may have been, and no answer proves what became of it: time-out, reset, any 5xx, an answer that cannot be read.',
  timeout: 'The request was written and the answer did not come, or did not end, in time. Reads only.',
  connection_lost: 'The connection broke after the request was written. Reads only.',
  rate_limited: '429: the service refused the call because of its rate limit. It did nothing else.',
  unauthorized: '401: the API key is missing, unknown or revoked.',
  forbidden: '403: the key is not a platform key, or an agreement is not signed.',
  validation_failed: '400: the request breaks a rule; the field errors say which.',
  workbook_rejected: '400 on bulk-upload: the workbook breaks a rule; nothing of it was filed.',
  email_taken: '400 "User with email already exists": another client of the account has the e-mail in this mode.',
  dgft_username_taken: '400: the DGFT username is linked or connected to another client in this mode.',
  credentials_already_set: '400: a different DGFT username than the stored one was given.',
  credentials_rejected: '400 "Invalid DGFT credentials": the portal refused the login; the client stays inactive.',
  credential_check_failed: '500 on check-dgft-credentials: the portal check could not be completed.',
  credential_fuse:
    'Our own refusal to send: five credential checks failed within fifteen minutes, and a sixth would be refused.',
  credentials_invalid: 'DGFT_CREDENTIALS_INVALID: the stored portal password is rejected.',
  account_locked: 'DGFT_ACCOUNT_LOCKED: the portal account is locked.',
  credentials_missing: 'DGFT_CREDENTIALS_MISSING: no portal credentials are on file.',
  activation_pending: 'DGFT_IP_ACTIVATION_PENDING: the authority has not opened API access yet.',
  customer_not_found: "404: no such client in the key's mode.",
  request_not_found: '404 on status: the service does not know the request id.',
  certificate_not_ready: 'EBRC_NOT_FOUND: the certificate is not on the portal yet.',
  portal_unavailable: 'DGFT_PORTAL_UNAVAILABLE: the portal is unreachable or misbehaves. Reads only.',
  server_error: 'The service failed: another 5xx, of a read.',
  bad_answer:
    'An answer that is not what the specification describes: not JSON, cut short, or of another shape. Reads only.',
  window_too_wide: '400 on fetch-details: the window is wider than three months.',
  not_found: '404: it names nothing that the specification knows (a wrong address, a proxy).',
  conflict: '409: it has no code that the specification knows.',
  too_large:
    '413: the request is larger than the service, or a proxy before it, takes. Send it in parts, or have the limit raised.',
  refused: 'Another 4xx.',
  attempt_closed: 'Our own refusal to write: the attempt was closed before the first byte. Nothing was written.',
  ledger_unavailable:
    'Our own database cannot be used right now: away, silent, read-only after a failover, out of connections, a deadlock, a time-out. Nothing was written to the service.',
  cancelled: 'The caller cancelled. For a submission: before anything was written.',
  extraction_unconfigured: 'EBRC_EXTRACTION_URL or EBRC_EXTRACTION_KEY is not set.',
  unexpected: 'A defect of ours, or an unforeseen error.',
} as const;

export type ErrorKind = keyof typeof ERROR_KINDS;

/** Kinds of the documented error codes (spec: "Credential and download errors"), which override the HTTP status. */
const KIND_OF_ERROR_CODE: Readonly<Record<string, ErrorKind>> = {
  DGFT_CREDENTIALS_INVALID: 'credentials_invalid',
  DGFT_ACCOUNT_LOCKED: 'account_locked',
  DGFT_CREDENTIALS_MISSING: 'credentials_missing',
  EBRC_NOT_FOUND: 'certificate_not_ready',
  DGFT_PORTAL_UNAVAILABLE: 'portal_unavailable',
  DGFT_IP_ACTIVATION_PENDING: 'activation_pending',
};

/** The kind of a documented code, in any case; undefined for an unknown code, or none. */
export const kindOfErrorCode = (code: string | undefined): ErrorKind | undefined =>
  code === undefined ? undefined : KIND_OF_ERROR_CODE[code.trim().toUpperCase()];

export const ERROR_KIND_NAMES = Object.keys(ERROR_KINDS) as ErrorKind[];

/** Whether a text (the `type` of a failure that passed through Temporal) is a kind. */
export function isErrorKind(word: unknown): word is ErrorKind {
  return typeof word === 'string' && Object.hasOwn(ERROR_KINDS, word);
}
