/** Shows a filing in the Temporal UI: current details and search attributes. */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { OpenedFiling } from '../../activities/filings/open-filing';
import type { ReadSettingsResult } from '../../activities/dependencies';
import type { FilingResult } from '../../domain/contracts';
import type { FilingState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import { inUtc } from '../../domain/dates';
import { waitingText, type Waiting } from '../../domain/filing/view';
import { markdownText } from '../../domain/text';
import { searchAttributes } from '../../domain/names';

export interface Refusal {
  errors: Finding[];
  contentHash: string | null;
  recorded: OpenedFiling | null;
}

/** A property of an unchecked input as text; empty if it is not a string. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

interface Shown {
  readonly state: FilingState | 'refused';
  readonly attention: string | null;
  readonly counts: FilingResult['counts'];
  readonly requestId: string | null;
  /** Left out or null when the filing waits for nothing, or that is unknown. */
  readonly waiting?: Waiting | null;
  readonly exporterId: string;
  /** Undefined until the ledger answered for the first time. */
  readonly settings?: Pick<ReadSettingsResult, 'mode' | 'searchAttributes'>;
}

export function showFiling(run: Shown, reference: string | undefined, text: string, needsAttention: boolean): void {
  const { rows, certified, archived, errored, open } = run.counts;
  const lines = [
    `**${run.state}**: ${markdownText(inUtc(text))}`,
    ...(run.attention ? [`> ${markdownText(inUtc(run.attention))}`] : []),
    ...(run.waiting ? [`Waits for ${markdownText(inUtc(waitingText(run.waiting, (at) => at)))}.`] : []),
    `Rows ${rows}, certified ${certified}, PDFs archived ${archived}, errored ${errored}, open ${open}.`,
    ...(run.requestId ? [`Request ${markdownText(run.requestId)}.`] : []),
  ];
  setCurrentDetails(lines.join('\n\n'));
  if (!run.settings) return;
  const known = new Set(run.settings.searchAttributes);
  // Upsert only what changed, compared also with the attributes that the workflow was started with.
  const { typedSearchAttributes: shown } = workflowInfo();
  // An attribute that the server does not know would fail the workflow task.
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

/** Shows why a run recorded nothing and what is recorded under its reference. `run`: shown if nothing is recorded. */
export function showRefusal({ recorded, errors }: Refusal, run: Omit<Shown, 'state'>, reference: string): void {
  const text = errors[0]?.message ?? 'refused';
  const { settings } = run;
  if (recorded) {
    const requestId = recorded.submissions[0]?.requests[0]?.requestId ?? null;
    showFiling({ ...recorded, requestId, settings }, recorded.reference, text, recorded.needsAttention);
  } else showFiling({ ...run, state: 'refused', attention: null, waiting: null }, reference, text, false);
}
