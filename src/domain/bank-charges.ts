/**
 * The share of a remittance that bank charges may take. An amount that is short by no more than this may be the same
 * payment, in proposals and in near matches of a reconciliation.
 */
export const BANK_CHARGES = 0.02;
