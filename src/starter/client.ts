import type { EbrcClientDependencies } from './dependencies';
import { requireApproval, type ApprovalChange, changeExporter, type ExporterChange } from './exporters/change';
import { onboardList, type ListOnboarding, type OnboardListOptions } from './exporters/onboard-list';
import { createExporterOperations, type ExporterOperations } from './exporters/operations';
import { makeTemplate, type Template } from './exporters/template';
import type { ExporterView } from './exporters/views';
import { draftFiling, type DraftOutcome, type DraftRequest } from '../assistant/drafts/draft';
import {
  extractFiles,
  type ExtractedFile,
  type ExtractRequest,
  type ExtractWait,
} from '../assistant/extraction/extract';
import { checkFile, type CheckOutcome, type CheckRequest } from './filings/check';
import { correctFiling, type CorrectRequest } from './filings/correct';
import { fileFile, type FileRequest } from './filings/file';
import { createFilingOperations, type FilingOperations } from './filings/operator-commands';
import type { FilingOutcome } from './filings/outcome';
import type { WaitOptions } from './filings/start';
import { proposeMappings, type ProposeOutcome, type ProposeRequest } from '../assistant/proposals/propose';
import { importInvoices, type InvoiceImport, type InvoiceImportOutcome } from '../assistant/proposals/import-invoices';
import { createEbrcReader, type EbrcReader } from './reader';
import {
  acknowledgeFinding,
  type Acknowledgement,
  reconcile,
  type ReconcileOutcome,
  type ReconcileRequest,
  type ReconcileWait,
} from './reconcile';
import { applySchedules, deleteSchedules, listSchedules, type ScheduleView, readScheduleFile } from './schedules';
import type { FindingView } from '../domain/reconciliation/findings';
import type { RotationResult } from '../ledger/vault/vault';

/**
 * Everything that the command line can do, for other TypeScript programs. Filings and exporters are read from the
 * ledger; changes go through Temporal. Refusals are thrown as `RefusedError` with every reason.
 */
export interface EbrcClient extends EbrcReader, ExporterOperations, FilingOperations {
  /** Files a push message or a workbook; filing the same content again finds the first filing. */
  file(request: FileRequest, wait?: WaitOptions): Promise<FilingOutcome>;
  /** Checks a push message or a workbook by all rules and balances, and sends nothing. */
  check(request: CheckRequest): Promise<CheckOutcome>;
  /** Files the errored rows of a filing again, as a new filing. */
  correct(request: CorrectRequest, wait?: WaitOptions): Promise<FilingOutcome>;
  /** Onboards every exporter of a list (.csv, .xlsx or .json); the failure of one row does not affect the others. */
  onboardList(path: string, options: OnboardListOptions): Promise<ListOnboarding>;
  /** Changes name, company name or address at the service. */
  changeExporter(exporter: string, change: ExporterChange): Promise<ExporterView>;
  /**
   * Sets whether filings of the exporter need a second person's approval; applies to filings made from now on. To
   * switch it off takes two principals.
   */
  requireApproval(exporter: string, change: { required: boolean; by: string }): Promise<ApprovalChange>;
  /** A bulk workbook with one row per remittance with a free balance, to be filled in and filed; needs `api`. */
  template(exporter: string, options?: { all?: boolean }): Promise<Template>;
  /** Extracts shipping bills or invoices with the extraction service; returns one entry per file, also for failures. */
  extract(request: ExtractRequest, wait?: ExtractWait): Promise<ExtractedFile[]>;
  /** Drafts a filing from documents, as a workbook; nothing is filed. */
  draft(request: DraftRequest, wait?: ExtractWait): Promise<DraftOutcome>;
  /** Proposes mappings of free balances to open documents, as a workbook; nothing is filed. */
  propose(request: ProposeRequest): Promise<ProposeOutcome>;
  /** Imports the exporters' own documents into the ledger, for the ageing report. */
  importInvoices(list: InvoiceImport): Promise<InvoiceImportOutcome>;
  /** Compares the ledger with the authority; joins a run of the same scope that is in progress. */
  reconcile(request?: ReconcileRequest, wait?: ReconcileWait): Promise<ReconcileOutcome>;
  /**
   * Acknowledges a finding without closing it. @throws RefusedError if there is no such finding, or the note is empty
   */
  acknowledge(finding: Acknowledgement): Promise<FindingView>;
  /** The schedules on Temporal: each function returns the schedules that it created, found or removed. */
  schedules: {
    /** @throws UsageError that names every problem of the file */
    apply(file: string): Promise<ScheduleView[]>;
    list(): Promise<ScheduleView[]>;
    delete(): Promise<ScheduleView[]>;
  };
  /** Encrypts every stored password under the first key of the vault. */
  rotateVault(): Promise<RotationResult>;
}

/** The typed client. The caller opens and closes its dependencies. */
export function createEbrcClient(deps: EbrcClientDependencies): EbrcClient {
  const operations = { ...createEbrcReader(deps), ...createExporterOperations(deps), ...createFilingOperations(deps) };
  return {
    ...operations,
    file: (request, wait = {}) => fileFile(deps, request, wait),
    check: (request) => checkFile(deps, request),
    correct: (request, wait = {}) => correctFiling(deps, request, wait),
    onboardList: (path, options) => onboardList(() => Promise.resolve(operations), path, options),
    changeExporter: (exporter, change) => changeExporter(deps, exporter, change),
    requireApproval: (exporter, change) => requireApproval(deps, exporter, change),
    template: async (exporter, options) =>
      makeTemplate({ ...deps, api: await needed(deps.api, 'api') }, exporter, options),
    extract: (request, wait) => extractFiles(deps, request, wait),
    draft: (request, wait) => draftFiling(deps, request, wait),
    propose: (request) => proposeMappings(deps, request),
    importInvoices: (list) => importInvoices(deps, list),
    reconcile: (request, wait) => reconcile(deps, request, wait),
    acknowledge: (finding) => acknowledgeFinding(deps, finding),
    schedules: {
      apply: async (file) => applySchedules({ ...deps, planned: await readScheduleFile(file) }),
      list: () => listSchedules(deps),
      delete: () => deleteSchedules(deps),
    },
    rotateVault: async () => (await deps.vault()).rotate(deps.pool),
  };
}

function needed<T>(open: (() => Promise<T>) | undefined, name: string): Promise<T> {
  if (open) return open();
  return Promise.reject(new TypeError(`createEbrcClient was given no \`${name}\`, and this operation needs it.`));
}
