import { createAnnotateActivities } from './annotate';
import { createAttemptActivities } from './attempts';
import { createCertificateActivities } from './certificates';
import { createCredentialActivities } from './credentials';
import type { ActivityDependencies } from './dependencies';
import { createExporterActivities } from './exporters';
import { createExtractionActivities } from './extraction/extraction';
import { createFilingLedgerActivities } from './filing-ledger';
import { createIrmActivities } from './irms';
import { createOpenFilingActivities } from './open-filing';
import { createPollActivities } from './poll-status';
import { createMaintenanceActivities } from './maintenance';
import { createReconciliationActivities } from './reconciliation';
import { createSettingsActivities } from './settings';
import { createSettleActivities } from './settle';
import { createSubmitActivities } from './submit';

/** Every activity, from its dependencies. Which queue runs which is decided by the workflow that calls it. */
export function createActivities(deps: ActivityDependencies) {
  return {
    ...createSettingsActivities(deps),
    ...createExporterActivities(deps),
    ...createCredentialActivities(deps),
    ...createIrmActivities(deps),
    ...createOpenFilingActivities(deps),
    ...createFilingLedgerActivities(deps),
    ...createAttemptActivities(deps),
    ...createSubmitActivities(deps),
    ...createPollActivities(deps),
    ...createSettleActivities(deps),
    ...createCertificateActivities(deps),
    ...createAnnotateActivities(deps),
    ...createReconciliationActivities(deps),
    ...createMaintenanceActivities(deps),
    ...createExtractionActivities(deps),
  };
}

export type Activities = ReturnType<typeof createActivities>;
