import { createCaller, type CallerOptions } from './http/call';
import { createCustomerApi, createIrmApi } from './endpoints/exporters';
import { createFilingsApi } from './endpoints/filings';
import type { Budget } from '../budget/ports';

/** `baseUrl` ends in `/api/v1`; `apiKey` decides the mode; the budget is required, because the service has limits. */
export type FilingApiOptions = CallerOptions & { budget: Budget };

/** The filing service, one method per endpoint, one attempt per call, rejecting with `ApiError`. Lists page through. */
export function createFilingApi(options: FilingApiOptions) {
  const caller = createCaller(options);
  return {
    ...createCustomerApi(caller),
    ...createFilingsApi(caller),
    ...createIrmApi(caller),
    /** Closes kept-alive connections and waits for the bookkeeping (budget, audit) of the calls that have ended. */
    close: () => caller.close(),
  };
}

export type FilingApi = ReturnType<typeof createFilingApi>;
