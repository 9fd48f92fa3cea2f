/** Readings of companies by workflows other than filings, which repeat them themselves. */
import { sleep } from '@temporalio/workflow';
import type { CompanyRead, ReadCompanyArgs } from '../../activities/read-company';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { decide, delayMs, type Schedule } from '../../domain/service/retry-table';
import { summaryText } from '../../domain/text';
import { calls } from '../activity-profiles';

/** A reading by somebody else ends soon. */
const UNDER_WAY: Schedule = { initialMs: 30_000, factor: 1, maxMs: 30_000 };

export interface ReadingAbout {
  summary: string;
  /** 1: a person waits; 5: schedules and repairs. */
  priorityKey: 1 | 5;
  /** How often it is tried. */
  tries: number;
}

/** Reads a company, again while another reading is under way or a call fails in a way that passes by itself. */
export async function readWithRetries(
  args: ReadCompanyArgs,
  { summary, priorityKey, tries }: ReadingAbout,
): Promise<CompanyRead & { irmCount: number }> {
  const { exporterId, what } = args;
  const rateClass = what === 'irms' ? 'irm-refresh' : 'details';
  for (let tried = 1; ; tried += 1) {
    const read = await calls('helpful', { summary, rateClass, exporterId, priorityKey }).readCompany(args);
    const schedule = read.state === 'under_way' ? UNDER_WAY : read.failure && passesAfter(read.failure.kind);
    if (!schedule || tried >= tries) return read;
    await sleep(delayMs(schedule, tried), { summary: summaryText(`${summary} again`) });
  }
}

/** When a failure of this kind is worth trying again without anybody's doing; null: it is not. */
function passesAfter(kind: ErrorKind): Schedule | null {
  const decision = decide('fetchDetails', kind);
  if (decision.action === 'retry') return decision.schedule;
  return decision.action === 'wait' && decision.until === 'rate_window' ? decision.schedule : null;
}
