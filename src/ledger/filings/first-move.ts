/** The move that is recorded with a filing's intent. */
import {
  approvalMove,
  areBalancesFresh,
  CHECKING,
  isActivationPending,
  submittingMove,
  type FirstMove,
} from '../../domain/filing/first-moves';
import { stateLimitMs, type StateLimitSettings } from '../../domain/filing/state-limits';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import { saveBalanceFindings } from './filing-notes';
import { writeMove } from './filing-progress';
import type { FilingRecord } from './filings';
import { readReadiness } from './readiness';

interface NewFiling extends Pick<FilingRecord, 'filingId' | 'exporterId' | 'madeBy' | 'approvalNeeded'> {
  /** Rows of each submission. */
  submissions: readonly number[];
  /** Of the check of its balances, which are reserved where it found no error. */
  findings: readonly Finding[];
  at: Date;
}

/**
 * Moves a filing whose intent was just written: to its sending or to the wait for approval, where its exporter is
 * active and fresh balances were reserved; otherwise to the checks that its run makes.
 */
export async function writeFirstMove(
  client: Queryable,
  filing: NewFiling,
  settings: StateLimitSettings,
): Promise<void> {
  const { filingId, findings, at } = filing;
  const ready = !hasErrors(findings) && (await mayRelyOnBalances(client, filing));
  if (ready && findings.length > 0) await saveBalanceFindings(client, filingId, findings);
  const { state, event, attention } = ready ? moveOfReserved(filing) : CHECKING;
  const limitMs = stateLimitMs(state, settings, 0);
  const dueAt = limitMs === null ? null : new Date(at.getTime() + limitMs);
  await writeMove(client, { filingId, seq: 1, state, attention, dueAt, at, event });
}

async function mayRelyOnBalances(client: Queryable, filing: NewFiling): Promise<boolean> {
  const readiness = await readReadiness(client, filing);
  return !isActivationPending(readiness) && areBalancesFresh(readiness, filing.at.getTime());
}

function moveOfReserved(filing: NewFiling): FirstMove {
  if (filing.approvalNeeded) return approvalMove(filing);
  const [rowCount = 0] = filing.submissions;
  return submittingMove({ submission: 1, rowCount }, filing.submissions.length);
}
