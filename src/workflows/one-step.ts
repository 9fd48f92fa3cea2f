import { calls } from './activity-profiles';
import type { DailyReportInput, DailyReportResult } from '../domain/report-contracts';
import { needInput } from './failures';
import { ApplicationFailure, setCurrentDetails } from '@temporalio/workflow';
import type { ExtractDocumentInput, ExtractDocumentResult } from '../assistant/extraction/contracts';

export interface MaintainLedgerResult {
  /** Rows removed, by what they were. */
  removed: Record<string, number>;
}

/** Removes old findings and runs of reconciliations; runs on a schedule. Filings and their events are kept. */
export async function maintainLedger(): Promise<MaintainLedgerResult> {
  return { removed: await calls('document', { summary: 'Remove old ledger data' }).pruneLedger() };
}

/** Writes the daily report into the document store; runs on a schedule, whose last result names the document. */
export async function dailyReport(input: DailyReportInput): Promise<DailyReportResult> {
  needInput('dailyReport', input);
  return calls('document', { summary: 'Write the daily report', priorityKey: 5 }).writeDailyReport({ input });
}

/**
 * Has the extraction service read a document (spec: "Extraction service"), once: an answer that the ledger has is not
 * asked for again, whoever asks. How fast is decided by what the service answers to all.
 */
export async function extractDocument(input: ExtractDocumentInput): Promise<ExtractDocumentResult> {
  needInput('extractDocument', input);
  const opened = await calls('ledger', { summary: 'Find a stored extraction' }).openExtraction(input);
  if (opened.problems.length > 0) throw ApplicationFailure.nonRetryable(opened.problems.join('; '), 'invalid_input');
  if (opened.result) return opened.result;
  setCurrentDetails('Waiting for the extraction service.');
  const { extractionId } = opened;
  return calls('extraction', { summary: 'Extract the document', rateClass: 'extraction' }).askExtraction({
    extractionId,
  });
}
