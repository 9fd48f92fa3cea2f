import { ApplicationFailure, setCurrentDetails } from '@temporalio/workflow';
import type { ExtractDocumentInput, ExtractDocumentResult } from '../assistant/extraction/contracts';
import { calls } from './activity-profiles';
import { needInput } from './need-input';

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
