/**
 * The ledger does not hold a filing that a step is about: it was put back to a state from before the filing, or it is
 * another ledger. The run reads where its filing stands, and goes on from there.
 */
export class FilingMissing extends Error {
  override readonly name = 'FilingMissing';

  constructor(filingId: string, what = `Filing ${filingId}`) {
    super(`${what} is not in this ledger. Is DATABASE_URL the one it was made with?`);
  }
}
