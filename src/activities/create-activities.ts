import { annotateActivities } from './filings/annotate';
import { attemptActivities } from './filings/attempts';
import { certificateActivities } from './certificates';
import { credentialActivities } from './exporters/credentials';
import { type Deps, settingsActivities } from './dependencies';
import { endFilingActivities } from './filings/end-filing';
import { exporterActivities } from './exporters/exporters';
import { extractionActivities } from '../assistant/extraction/activities';
import { filingLedgerActivities } from './filings/filing-ledger';
import { irmActivities } from './exporters/irms';
import { openFilingActivities } from './filings/open-filing';
import { pollActivities } from './filings/poll-status';
import { reconciliationActivities } from './reconciliation';
import { reportActivities } from './daily-report';
import { lookActivities } from './filings/looks';
import { submitActivities } from './filings/submit';
import { removeOldRows } from '../ledger/retention';

function pruneLedger({ pool, clock }: Deps): Promise<Record<string, number>> {
  return removeOldRows(pool, clock());
}

/** Every activity, as a function of the dependencies and its argument. The caller chooses the task queue. */
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
  ...lookActivities,
  ...certificateActivities,
  ...annotateActivities,
  ...reconciliationActivities,
  pruneLedger,
  ...extractionActivities,
  ...reportActivities,
};

type WithoutDependencies<F> = F extends (deps: Deps, ...args: infer A) => infer R ? (...args: A) => R : never;

export type Activities = { [Name in keyof typeof ACTIVITIES]: WithoutDependencies<(typeof ACTIVITIES)[Name]> };

export function createActivities(deps: Deps): Activities {
  const bound = Object.entries<(deps: Deps, ...args: never[]) => unknown>(ACTIVITIES).map(([name, activity]) => [
    name,
    activity.bind(null, deps),
  ]);
  return Object.fromEntries(bound) as Activities;
}
