/**
 * Header of the column that names a drafted row, so that a filing can say what its rows were made of and what was
 * changed.
 */
export const DRAFT_ROW = 'Draft Row';
