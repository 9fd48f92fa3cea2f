import { DAY_MS } from '../dates';

/** How long after its date a certificate may be cancelled at the authority's portal, unless configured otherwise. */
export const CANCEL_WITHIN_MS = 120 * DAY_MS;

/** Free general use (spec: "Limits"), unless configured otherwise. The sandbox is not metered. */
export const FREE_QUOTA = { certificates: 250, exporters: 10 };
export type Quota = typeof FREE_QUOTA;

/** From this share of a quota on somebody is warned. */
export const QUOTA_WARNED_AT = 0.8;

/** The most rows of a filing, which is one push or one upload (spec: "Limits"). */
export const MAX_FILING_ROWS = 999;

/** The most rows that are read of a workbook, so that a person is told where to cut it. */
export const MAX_READ_ROWS = 5000;

/** The most bytes of an uploaded workbook (spec: "Limits", 5 MB). */
export const MAX_WORKBOOK_BYTES = 5 * 1024 * 1024;

/** The most bytes of a filing's rows as JSON. 999 usual rows have 500 KB; a workbook can repeat long texts. */
export const MAX_FILING_BYTES = 8 * 1024 * 1024;

/** The most bytes of a push message in a file; the HTTP API accepts less. */
export const MAX_MESSAGE_BYTES = 2 * MAX_FILING_BYTES;
