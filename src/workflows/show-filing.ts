/** Shows a filing in the Temporal UI: current details and search attributes, in one place. */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { Advanced } from '../activities/filings/advance';
import type { FilingResult } from '../domain/contracts';
import { inUtc } from '../domain/dates';
import { searchAttributes } from '../domain/names';
import { markdownText } from '../domain/text';

export function showFiling(
  advanced: Pick<Advanced, 'exporterId' | 'text' | 'next' | 'searchAttributes'>,
  view: FilingResult,
  mode: string,
): void {
  const { state, attention, requestId, errors } = view;
  // A refused repeat shows what stands under its reference.
  const shown = view.recorded ?? view;
  const { rows, certified, archived, errored, open } = shown.counts;
  const doing = 'summary' in advanced.next ? advanced.next.summary : null;
  const lines = [
    `**${state}**${advanced.text ? `: ${markdownText(inUtc(advanced.text))}` : ''}`,
    ...(view.recorded
      ? [`Recorded under the reference: filing ${view.recorded.filingId}, ${view.recorded.state}.`]
      : []),
    ...(attention ? [`> ${markdownText(inUtc(attention))}`] : []),
    ...(doing ? [`Now: ${markdownText(doing)}.`] : []),
    `Rows ${rows}, certified ${certified}, PDFs archived ${archived}, errored ${errored}, open ${open}.`,
    ...(requestId ? [`Request ${markdownText(requestId)}.`] : []),
    ...errors.slice(0, 3).map(({ message }) => `- ${markdownText(message)}`),
  ];
  setCurrentDetails(lines.join('\n\n'));
  const known = new Set(advanced.searchAttributes);
  const { typedSearchAttributes: present } = workflowInfo();
  // Only what changed; an attribute that the server does not know would fail the workflow task.
  const pairs = searchAttributes({
    exporterId: advanced.exporterId,
    mode,
    state: shown.state,
    requestId,
    reference: view.reference,
    needsAttention: attention !== null,
  }).filter(({ key, value }) => known.has(key.name) && present.get(key as never) !== value);
  if (pairs.length > 0) upsertSearchAttributes(pairs);
}
