/** What a filing shows of itself in the Temporal UI and in its lists. */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { ReadSettingsResult } from '../../activities/filings/settings';
import type { FilingCounts } from '../../domain/contracts';
import type { FilingState } from '../../domain/filing/states';
import { markdownText } from '../../domain/text';
import { searchAttributes } from '../search-attributes';

/** What is shown of a run. */
interface Shown {
  readonly state: FilingState | 'refused';
  readonly attention: string | null;
  readonly counts: FilingCounts;
  readonly requestId: string | null;
  readonly exporterId: string;
  /** Undefined until the ledger has answered once. */
  readonly settings?: Pick<ReadSettingsResult, 'mode' | 'searchAttributes'>;
}

/** Tells where the filing stands, and whether somebody should look. */
export function showFiling(run: Shown, reference: string | undefined, text: string, needsAttention: boolean): void {
  const { rows, certified, archived, errored, open } = run.counts;
  const lines = [
    `**${run.state}**: ${markdownText(text)}`,
    ...(run.attention ? [`> ${markdownText(run.attention)}`] : []),
    `Rows ${rows}, certified ${certified}, PDFs archived ${archived}, errored ${errored}, open ${open}.`,
    ...(run.requestId ? [`Request ${markdownText(run.requestId)}.`] : []),
  ];
  setCurrentDetails(lines.join('\n\n'));
  if (!run.settings) return;
  const known = new Set(run.settings.searchAttributes);
  // Those that the workflow was started with count as well: an attribute is written only when it changes.
  const { typedSearchAttributes: shown } = workflowInfo();
  // An attribute that the server does not know would fail the whole workflow task.
  const pairs = searchAttributes({
    exporterId: run.exporterId,
    state: run.state,
    requestId: run.requestId,
    mode: run.settings.mode,
    reference,
    needsAttention,
  }).filter(({ key, value }) => known.has(key.name) && shown.get(key as never) !== value);
  if (pairs.length > 0) upsertSearchAttributes(pairs);
}
