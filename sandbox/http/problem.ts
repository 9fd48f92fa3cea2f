/** The service's success envelope and its unwrapped error bodies (spec: "Conventions", "Errors", "Authentication"). */

/** What a route answers: JSON content that is put into the envelope, or a raw file. */
export type Answer =
  | { kind: 'json'; status: number; data: unknown }
  /** JSON without the envelope, which the extraction service does not have. */
  | { kind: 'bare'; status: number; body: Record<string, unknown> }
  | { kind: 'file'; status: number; contentType: string; fileName: string; body: Buffer };

/** JSON content of `data` with its HTTP status. */
export function json(data: unknown, status = 200): Answer {
  return { kind: 'json', status, data };
}

/** The success envelope around `data`; `now` is the sandbox clock in milliseconds. */
export function envelope(data: unknown, status: number, now: number): Record<string, unknown> {
  return { success: true, data, statusCode: status, timestamp: new Date(now).toISOString() };
}

/** An error of the service. The body is sent as it is, without the envelope. */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly status: number,
    readonly body: Record<string, unknown>,
  ) {
    super(typeof body['message'] === 'string' ? body['message'] : `HTTP ${status}`);
  }
}

/** Tells whoever runs the sandbox of a defect in it; the caller is told of a 500 alone. */
export function reportDefect(error: unknown): void {
  process.stderr.write(`The sandbox failed: ${error instanceof Error ? error.stack : String(error)}\n`);
}

/** A plain error body: `statusCode` and `message`. */
export function problem(status: number, message: string): Problem {
  return new Problem(status, { statusCode: status, message });
}

/** 400 with `field: text` strings (customer endpoints and push). */
export function validationFailed(errors: readonly string[]): Problem {
  return new Problem(400, { statusCode: 400, message: 'Validation failed', errors });
}

export interface CellError {
  /** Excel row; the header is row 1. */
  row: number;
  /** JSON field name, not the column header. */
  field: string;
  message: string;
}

/** 400 of a bulk upload, with one entry per failing cell. */
export function excelValidationFailed(errors: readonly CellError[]): Problem {
  return new Problem(400, { statusCode: 400, message: 'Excel validation failed', errors });
}

/** 429 with the documented message and nothing else: the service sends no rate-limit headers. */
export function tooManyRequests(): Problem {
  return problem(429, 'Too many requests. Please try again later.');
}

const PORTAL_ERRORS = {
  DGFT_CREDENTIALS_INVALID: {
    status: 409,
    update: true,
    message: 'The stored DGFT credentials were rejected by the portal',
    causes: ['The password was changed at the DGFT portal', 'The password has expired'],
  },
  DGFT_ACCOUNT_LOCKED: {
    status: 409,
    update: true,
    message: 'The DGFT portal account is locked',
    causes: ['Too many failed logins at the DGFT portal'],
  },
  DGFT_CREDENTIALS_MISSING: {
    status: 422,
    update: true,
    message: 'No DGFT credentials are linked to this customer',
    causes: ['The DGFT account was never linked'],
  },
  EBRC_NOT_FOUND: {
    status: 404,
    update: false,
    message: 'The eBRC was not found on the DGFT portal',
    causes: ['The certificate is not on the portal yet', 'The eBRC number belongs to another exporter'],
  },
  DGFT_PORTAL_UNAVAILABLE: {
    status: 502,
    update: false,
    message: 'The DGFT portal is unreachable or misbehaving',
    causes: ['The portal is down', 'The portal answered with an unexpected page'],
  },
  DGFT_IP_ACTIVATION_PENDING: {
    status: 409,
    update: false,
    message: 'DGFT API access is not active yet',
    causes: ['The authority opens API access 24 hours after validation'],
  },
};

export type PortalErrorCode = keyof typeof PORTAL_ERRORS;

/** A credential or download error with the documented body (spec: "Credential and download errors"). */
export function portalProblem(errorCode: PortalErrorCode, path: string, now: number): Problem {
  const { status, update, message, causes } = PORTAL_ERRORS[errorCode];
  return new Problem(status, {
    statusCode: status,
    errorCode,
    requiresPasswordUpdate: update,
    message,
    causes,
    path,
    timestamp: new Date(now).toISOString(),
  });
}

/** An answer in bytes. */
export interface Rendered {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  errorCode: string | null;
}
