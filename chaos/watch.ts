import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { FILING_STATES, isEnd, type FilingState } from '../src/domain/filing/states';

const LOOK_EVERY_MS = 2_000;
const SAY_EVERY_MS = 10_000;

export interface Standing {
  filingId: string;
  reference: string;
  state: string;
  /** A person was asked about its outcome, with the evidence. */
  asked: boolean;
}

/**
 * Whether no further change is expected of a filing: it ended, or a person has been asked and shown the evidence.
 */
export const isSettled = (standing: Standing): boolean =>
  isAsked(standing) || (isKnown(standing.state) && isEnd(standing.state));

/**
 * Whether a person was asked: about rows whose outcome is unknown, all of an attempt or those it leaves, or whether a
 * filing is to be sent beside a certificate that may be its twin's.
 */
export const isAsked = ({ state, asked }: Standing): boolean => asked && ASKED_STATES.includes(state);
export const ASKED_STATES: readonly string[] = ['outcome_unknown', 'overdue', 'awaiting_approval'];

const isKnown = (state: string): state is FilingState => (FILING_STATES as readonly string[]).includes(state);

/** Every filing of the ledger with its state. */
export async function readStandings(pool: pg.Pool): Promise<Standing[]> {
  const { rows } = await pool.query<Standing>(`SELECT filing_id AS "filingId", reference, state, asked FROM filings`);
  return rows;
}

/**
 * Watches the ledger until as many filings as `expected` tells are settled, or the deadline; prints their progress now
 * and then.
 */
export async function watchFilings(options: {
  pool: pg.Pool;
  expected: () => number;
  deadline: number;
  say: (message: string) => void;
}): Promise<void> {
  const { pool, expected, deadline, say } = options;
  let said = 0;
  for (;;) {
    const standings = await readStandings(pool).catch(() => null);
    const settled = standings?.filter(isSettled).length ?? 0;
    const over = settled >= expected() && standings?.length === settled;
    if (standings && (over || Date.now() - said > SAY_EVERY_MS)) {
      said = Date.now();
      say(textOf(standings));
    }
    if (over || Date.now() > deadline) return;
    await sleep(LOOK_EVERY_MS);
  }
}

function textOf(standings: readonly Standing[]): string {
  const counts = new Map<string, number>();
  for (const { state } of standings) counts.set(state, (counts.get(state) ?? 0) + 1);
  const parts = FILING_STATES.flatMap((state) => (counts.has(state) ? [`${counts.get(state)} ${state}`] : []));
  return `${standings.length} filings: ${parts.join(', ')}`;
}

/** What people are told about filings of unknown outcome. */
export async function readQuestions(pool: pg.Pool): Promise<{ reference: string; attention: string }[]> {
  const { rows } = await pool.query<{ reference: string; attention: string }>(
    `SELECT reference, coalesce(attention, '') AS attention FROM filings WHERE state IN ('outcome_unknown', 'overdue') ORDER BY 1`,
  );
  return rows;
}
