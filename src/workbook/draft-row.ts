/**
 * Header of the column that identifies a drafted row, so that a filing can record the sources of its rows and the
 * changes.
 */
export const DRAFT_ROW = 'Draft Row';
