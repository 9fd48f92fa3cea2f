/** Most rows of one submission, on either channel (spec: "Limits"). */
export const MAX_ROWS_PER_SUBMISSION = 999;

/** Most bytes of an uploaded workbook (spec: "Limits", 5 MB). */
export const MAX_WORKBOOK_BYTES = 5 * 1024 * 1024;
