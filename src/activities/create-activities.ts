import { extractionActivities } from '../assistant/extraction/activities';
import { certificateActivities } from './certificates';
import { reportActivities } from './daily-report';
import { type Deps, settingsActivities } from './dependencies';
import { credentialActivities } from './exporters/credentials';
import { exporterActivities } from './exporters/exporters';
import { irmActivities } from './exporters/irms';
import { advanceActivities } from './filings/advance';
import { annotateActivities } from './filings/annotate';
import { pollActivities } from './filings/poll';
import { submitActivities } from './filings/submit';
import { companyActivities } from './read-company';
import { reconciliationActivities } from './reconciliation';

/** Every activity, as a function of the dependencies and its argument. The caller chooses the task queue. */
const ACTIVITIES = {
  ...settingsActivities,
  ...exporterActivities,
  ...credentialActivities,
  ...irmActivities,
  ...advanceActivities,
  ...submitActivities,
  ...pollActivities,
  ...companyActivities,
  ...certificateActivities,
  ...annotateActivities,
  ...reconciliationActivities,
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
