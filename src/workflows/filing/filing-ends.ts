/** What ends the work of a filing's run from outside it; whatever handles failures lets these through. */

/** A person gave the filing up, or cancelled it before anything was sent. */
export class FilingGivenUp extends Error {
  override readonly name = 'FilingGivenUp';
}

/**
 * The ledger holds other moves of the filing than this run: somebody reset the workflow, or another run of it has
 * been at work. What the run decided is out of date; it reads the filing again and goes on from there.
 */
export class FilingMovedOn extends Error {
  override readonly name: string = 'FilingMovedOn';
}

/** The filing has ended in the ledger: another run ended it, and its recorded outcome stands. */
export class FilingEnded extends FilingMovedOn {
  override readonly name: string = 'FilingEnded';
}
