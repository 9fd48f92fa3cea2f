import { calls, checkStarted } from './activity-profiles';
import type { DailyReportInput, DailyReportResult } from '../domain/report-contracts';
import { readFailure } from './failures';
import { needInput } from './inputs';
import { ApplicationFailure, setCurrentDetails } from '@temporalio/workflow';
import type { ExtractDocumentInput, ExtractDocumentResult } from '../assistant/extraction/contracts';
import type { ChangeExporterInput, ChangeExporterResult } from '../domain/contracts';

/** Writes the daily report into the document store, on a schedule. The result names the document. */
export async function dailyReport(given: DailyReportInput): Promise<DailyReportResult> {
  const input = needInput('dailyReport', given);
  setCurrentDetails('The report is being written into the document store.');
  return calls('document', { summary: 'Write the daily report', priorityKey: 5 }).writeDailyReport({ input });
}

/** Has a document read (spec: "Extraction service"), unless the ledger holds the answer already. */
export async function extractDocument(given: ExtractDocumentInput): Promise<ExtractDocumentResult> {
  const input = needInput('extractDocument', given);
  setCurrentDetails('The ledger is being asked for an earlier answer.');
  const opened = await calls('ledger', 'Find a stored extraction').openExtraction(input);
  if (opened.problems.length > 0) throw ApplicationFailure.nonRetryable(opened.problems.join('; '), 'invalid_input');
  if (opened.result) return opened.result;
  setCurrentDetails('Waiting for the extraction service.');
  const { extractionId } = opened;
  const extraction = calls('extraction', { summary: 'Extract the document', rateClass: 'extraction' });
  return extraction.askExtraction({ extractionId });
}

/** Changes an exporter's name, company name or address at the service; fields that are left out stay. */
export async function changeExporter(given: ChangeExporterInput): Promise<ChangeExporterResult> {
  const input = needInput('changeExporter', given);
  const { mode: _, exporterId, ...change } = input;
  setCurrentDetails('The exporter is being changed at the service.');
  await checkStarted({ workflow: 'changeExporter', input }, 'The change is for');
  const about = { summary: 'Change the client at the service', rateClass: 'api', exporterId, priorityKey: 1 } as const;
  try {
    await calls('helpful', about).changeExporter({ exporterId, change });
    return { exporterId, state: 'changed', errors: [] };
  } catch (error) {
    const { kind, message } = readFailure(error);
    if (kind === null) throw error;
    return { exporterId, state: 'refused', errors: [{ code: kind, message }] };
  }
}
