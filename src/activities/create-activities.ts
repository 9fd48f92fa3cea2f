import { createAnnotateActivities } from './filings/annotate';
import { DAY_MS } from '../domain/dates';
import { createAttemptActivities } from './filings/attempts';
import { createCertificateActivities } from './certificates';
import { createCredentialActivities } from './exporters/credentials';
import type { ActivityDependencies } from './dependencies';
import { createEndFilingActivities } from './filings/end-filing';
import { createExporterActivities } from './exporters/exporters';
import { createExtractionActivities } from '../assistant/extraction/activities';
import { createFilingLedgerActivities } from './filings/filing-ledger';
import { createIrmActivities } from './exporters/irms';
import { createOpenFilingActivities } from './filings/open-filing';
import { createPollActivities } from './filings/poll-status';
import { createReconciliationActivities } from './reconciliation';
import { createReportActivities } from './daily-report';
import { createSettingsActivities } from './filings/settings';
import { createSettleActivities } from './filings/settle';
import { createSnapshotActivities } from './filings/snapshot';
import { createSubmitActivities } from './filings/submit';
import { pruneReconciliation, RECONCILIATION_DAYS } from '../ledger/reconciliation/runs';

function createMaintenanceActivities({ pool, clock }: ActivityDependencies) {
  return {
    /**
     * Removes closed findings and ended runs of reconciliations after two years. Filings, certificates and consents are
     * never removed; old audit rows are, by a job of the worker that leads (`src/worker/jobs.ts`).
     */
    pruneLedger(): Promise<Record<string, number>> {
      return pruneReconciliation(pool, new Date(clock() - RECONCILIATION_DAYS * DAY_MS));
    },
  };
}

/** Every activity, from its dependencies. Which queue runs which is decided by the workflow that calls it. */
export function createActivities(deps: ActivityDependencies) {
  return {
    ...createSettingsActivities(deps),
    ...createExporterActivities(deps),
    ...createCredentialActivities(deps),
    ...createIrmActivities(deps),
    ...createOpenFilingActivities(deps),
    ...createFilingLedgerActivities(deps),
    ...createEndFilingActivities(deps),
    ...createAttemptActivities(deps),
    ...createSubmitActivities(deps),
    ...createPollActivities(deps),
    ...createSnapshotActivities(deps),
    ...createSettleActivities(deps),
    ...createCertificateActivities(deps),
    ...createAnnotateActivities(deps),
    ...createReconciliationActivities(deps),
    ...createMaintenanceActivities(deps),
    ...createExtractionActivities(deps),
    ...createReportActivities(deps),
  };
}

export type Activities = ReturnType<typeof createActivities>;
