/** What is said of a variable that is missing: what it is, and what is allowed. */

export const API_URL_HINT = 'is missing; allowed: the root of the filing service, ending in /api/v1';
export const API_KEY_HINT = 'is missing; allowed: a key of the filing service, which starts with dev_ or prod_';
export const MODE_HINT = `${API_KEY_HINT}; EBRC_MODE (test or live) is enough for commands that only read`;
export const ENCRYPTION_HINT = `${API_KEY_HINT}; or EBRC_ENCRYPTION_KEY, which is derived from it where it is not set`;
export const MISSING_LIVE_KEY =
  'is missing, and a prod_ key does not start without it; allowed: keyId:base64-of-32-bytes (`openssl rand -base64 32` makes one)';
export const MISSING_PAYLOAD_KEY = `${MISSING_LIVE_KEY}; EBRC_PAYLOAD_KEY is enough for what opens no password`;
export const DATABASE_HINT = 'is missing; allowed: postgres://USER:PASSWORD@HOST:PORT/DATABASE';
export const EXTRACTION_HINT =
  'is missing, but the other of EBRC_EXTRACTION_URL and EBRC_EXTRACTION_KEY is set; allowed: both or neither';
export const DEPLOYMENT_HINT =
  'is missing, but the other of EBRC_DEPLOYMENT and EBRC_BUILD_ID is set; allowed: both or neither';
