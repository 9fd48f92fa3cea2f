/** The budget's store could not be reached for longer than a lease. The call was not sent. */
export class BudgetUnavailableError extends Error {
  override readonly name = 'BudgetUnavailableError';

  constructor(cause: unknown) {
    super('The call budget in PostgreSQL cannot be reached; this call was not sent and will be made again later.', {
      cause,
    });
  }
}
