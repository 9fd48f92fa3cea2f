/**
 * The ledger does not hold the filing of a step: it was restored to a state from before the filing, or it is another
 * ledger. The run reads the state of its filing and continues from there.
 */
export class FilingMissing extends Error {
  override readonly name = 'FilingMissing';

  constructor(filingId: string, what = `Filing ${filingId}`) {
    super(`${what} is not in this ledger. Is DATABASE_URL the one it was made with?`);
  }
}
