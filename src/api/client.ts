import { createCaller, type CallerOptions } from './http/call';
import { createCustomerApi, createIrmApi } from './endpoints/exporters';
import { createFilingsApi } from './endpoints/filings';
import type { Budget } from '../budget/slot';

/**
 * Client of the filing service: one method per endpoint, one attempt per call. Rejects with `ApiError`.
 * @param options `baseUrl` ends in `/api/v1`; `apiKey` determines the mode; the service's rate limits require a budget
 */
export function createFilingApi(options: CallerOptions & { budget: Budget }) {
  const caller = createCaller(options);
  return {
    ...createCustomerApi(caller),
    ...createFilingsApi(caller),
    ...createIrmApi(caller),
    /** Closes connections and waits until budget and audit have recorded all ended calls. */
    close: () => caller.close(),
  };
}

export type FilingApi = ReturnType<typeof createFilingApi>;
