import { createCaller, type CallerOptions } from './http/call';
import type { FilingApi } from './client-types';
import { createCustomerApi, createIrmApi } from './endpoints/exporters';
import { createFilingsApi } from './endpoints/filings';
import type { Budget } from '../budget/ports';

/** `baseUrl` ends in `/api/v1`; `apiKey` decides the mode; the budget is required, because the service has limits. */
export type FilingApiOptions = CallerOptions & { budget: Budget };

/** The client of the filing service: every endpoint, one attempt per call, one error class. */
export function createFilingApi(options: FilingApiOptions): FilingApi {
  const caller = createCaller(options);
  return {
    ...createCustomerApi(caller),
    ...createFilingsApi(caller),
    ...createIrmApi(caller),
    close: () => caller.close(),
  };
}
