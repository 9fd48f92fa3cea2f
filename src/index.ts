/** The package's API for TypeScript programs: the client, its types and its errors. */
import type { Environment } from './config/config';
import { createCli } from './starter/cli/context';
import type { EbrcClient } from './starter/client';

export type { EbrcClient } from './starter/client';
export type { EbrcClientDependencies, EbrcReaderDependencies } from './starter/dependencies';
export { RefusedError, UnreachableError, UsageError, type Problem } from './starter/errors';
export { ConfigError, type ConfigProblem, type Environment } from './config/config';
export { LedgerUnavailableError } from './ledger/unavailable';
export { NoWorkerError, TemporalSilentError } from './temporal/workers-present';
export type { Finding } from './domain/rules/finding';
export type { Mapping, PushMessage } from './domain/filing/mapping';
export type {
  AttemptView,
  DecisionView,
  EvidenceView,
  EventView,
  FilingView,
  RowView,
  Waiting,
} from './domain/filing/view';
export type { CheckOutcome, CheckRequest } from './starter/filings/check';
export type { CorrectRequest } from './starter/filings/correct';
export type { FileRequest } from './starter/filings/file';
export type { FilingOutcome } from './starter/filings/outcome';
export type { FilingTerms, WaitOptions } from './starter/filings/start';
export type { WrittenEvidence } from './starter/filings/evidence';
export type { Credentials, ExporterOutcome, ExporterWait, OnboardRequest } from './starter/exporters/operations';
export type { ExporterView, IrmView } from './starter/exporters/views';
export type { CertificateFilter, ListFilter } from './starter/reader';
export type { ReconcileOutcome, ReconcileRequest } from './starter/reconcile';
export type { ReportOutcome, ReportRequest } from './starter/report';

export interface OpenEbrcClientOptions {
  /** Gets the progress notes of the command line, such as waiting for PostgreSQL. */
  onNote?: (text: string) => void;
}

export type OpenEbrcClient = EbrcClient & { close(): Promise<void> };

/**
 * Opens the typed client, configured by the environment as the command line is. `EBRC_TOKEN`: the acting principal.
 * @throws ConfigError with every wrong variable; UnreachableError
 */
export async function openEbrcClient(
  env?: Environment,
  { onNote = () => undefined }: OpenEbrcClientOptions = {},
): Promise<OpenEbrcClient> {
  const cli = createCli({ note: onNote }, { env });
  try {
    return { ...(await cli.client()), close: () => cli.close() };
  } catch (error) {
    await cli.close();
    throw error;
  }
}
