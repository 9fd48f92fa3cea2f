/** Checks the run of an open filing, and starts a new one if something was sent and the run is lost. */
import type { Client } from '@temporalio/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import { judgeRun } from '../domain/filing/run-judgement';
import { openFiling, recordRunProblem, type OpenFilingRun } from '../ledger/filings/open-filings';
import { describeRun, resumeOptions, startFilingRun } from './filing-runs';

export interface CheckRunDependencies {
  pool: pg.Pool;
  temporal: Client;
  /** The main queue, on which filings run. */
  taskQueue: string;
  logger: Logger;
  clock: () => number;
}

/** The result: a new run was started, or a new problem of the run was recorded. */
export interface Look {
  resumed: boolean;
  reported: boolean;
  /** Why a new run was started, or what is wrong with the existing one. */
  why: string | null;
}

/**
 * Starts a new run for a filing of which something was, or may have been, sent; a filing of which nothing was sent
 * waits for a person, because somebody may have stopped it on purpose. Safe to run several times at once.
 * @throws if Temporal cannot be queried: then nothing is concluded
 */
export async function checkRun(deps: CheckRunDependencies, filing: OpenFilingRun): Promise<Look> {
  const { pool, temporal, taskQueue, logger, clock } = deps;
  const { filingId, seq } = filing;
  const now = new Date(clock());
  const verdict = judgeRun(filing, await describeRun(temporal, filing.workflowId), now);
  if (verdict.action === 'report') {
    const { problem } = verdict;
    const reported = await recordRunProblem(pool, { filingId, seq, problem, at: now });
    if (reported && problem)
      logger.warn({ filingId, workflowId: filing.workflowId, problem }, 'a filing needs attention');
    return { resumed: false, reported, why: problem };
  }
  // The filing may have moved or ended since it was read; then its run was not lost.
  if ((await openFiling(pool, filingId))?.seq !== seq) return { resumed: false, reported: false, why: null };
  logger.warn(
    { filingId, workflowId: filing.workflowId, why: verdict.why },
    'a new run was started for a filing that had lost its run',
  );
  await startFilingRun(temporal, filing, resumeOptions(filing, taskQueue));
  return { resumed: true, reported: false, why: verdict.why };
}
