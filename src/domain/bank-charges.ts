/**
 * The part of a remittance that bank charges may take: an amount short by no more than this can be the same payment, in
 * proposals as in near matches of a reconciliation.
 */
export const BANK_CHARGES = 0.02;
