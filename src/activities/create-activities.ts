import { annotateActivities } from './filings/annotate';
import { DAY_MS } from '../domain/dates';
import { attemptActivities } from './filings/attempts';
import { certificateActivities } from './certificates';
import { credentialActivities } from './exporters/credentials';
import type { ActivityDependencies } from './dependencies';
import { endFilingActivities } from './filings/end-filing';
import { exporterActivities } from './exporters/exporters';
import { extractionActivities } from '../assistant/extraction/activities';
import { filingLedgerActivities } from './filings/filing-ledger';
import { irmActivities } from './exporters/irms';
import { openFilingActivities } from './filings/open-filing';
import { pollActivities } from './filings/poll-status';
import { reconciliationActivities } from './reconciliation';
import { reportActivities } from './daily-report';
import { settingsActivities } from './filings/settings';
import { settleActivities } from './filings/settle';
import { snapshotActivities } from './filings/snapshot';
import { submitActivities } from './filings/submit';
import { pruneReconciliation, RECONCILIATION_DAYS } from '../ledger/reconciliation/runs';

/**
 * Removes closed findings and ended runs of reconciliations after two years. Filings, certificates and consents are
 * never removed; old audit rows are, by a job of the worker that leads (`src/worker/jobs.ts`).
 */
function pruneLedger({ pool, clock }: ActivityDependencies): Promise<Record<string, number>> {
  return pruneReconciliation(pool, new Date(clock() - RECONCILIATION_DAYS * DAY_MS));
}

/** Every activity: a function of the dependencies and its arguments. Which queue runs it is decided by its caller. */
const ACTIVITIES = {
  ...settingsActivities,
  ...exporterActivities,
  ...credentialActivities,
  ...irmActivities,
  ...openFilingActivities,
  ...filingLedgerActivities,
  ...endFilingActivities,
  ...attemptActivities,
  ...submitActivities,
  ...pollActivities,
  ...snapshotActivities,
  ...settleActivities,
  ...certificateActivities,
  ...annotateActivities,
  ...reconciliationActivities,
  pruneLedger,
  ...extractionActivities,
  ...reportActivities,
};

type WithoutDependencies<F> = F extends (deps: ActivityDependencies, ...args: infer A) => infer R
  ? (...args: A) => R
  : never;

export type Activities = { [Name in keyof typeof ACTIVITIES]: WithoutDependencies<(typeof ACTIVITIES)[Name]> };

/** Binds every activity to its dependencies. */
export function createActivities(deps: ActivityDependencies): Activities {
  const bound = Object.entries<(deps: ActivityDependencies, ...args: never[]) => unknown>(ACTIVITIES).map(
    ([name, activity]) => [name, activity.bind(null, deps)],
  );
  return Object.fromEntries(bound) as Activities;
}
