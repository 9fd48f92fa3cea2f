/** Most rows of one submission, on either channel (spec: "Limits"). */
export const MAX_ROWS_PER_SUBMISSION = 999;

/** Most rows of one filing; more than 999 are split into several submissions. */
export const MAX_FILING_ROWS = 5000;

/** Most bytes of an uploaded workbook (spec: "Limits", 5 MB). */
export const MAX_WORKBOOK_BYTES = 5 * 1024 * 1024;

/** As JSON; 999 rows have about 500 KB. A small workbook can repeat a long text in every cell. */
export const MAX_FILING_BYTES = 8 * 1024 * 1024;

/** Most bytes of a push message in a file; the HTTP API takes less. */
export const MAX_MESSAGE_BYTES = 2 * MAX_FILING_BYTES;
