/** What the ledger and the document store hold, as the model names it, and how the two are compared. */
import { afterCertificate, attemptState, NOTHING, rowState, type LedgerFiling } from '../../chaos/history/abstraction';
import { decodeSend, NOBODY } from '../../src/ledger/sends/send-record';
import { readIdentity, type SendStore } from '../../src/ledger/sends/sends';
import type { Queryable } from '../../src/ledger/pool';
import type { ModelState, Sender, Step } from './model-trace';

/** What the driver knows and the ledger does not. */
export interface Names {
  filingIds: (string | null)[];
  /** The execution of a sender's id. */
  executionOf: (sender: string) => number | null;
}

/** The model's state that the ledger and the store amount to. */
export async function abstractionOf(db: Queryable, store: SendStore, names: Names, sends: number): Promise<ModelState> {
  const state: ModelState = { filings: [], attempts: [], sends: [], files: [] };
  for (const f of [0, 1]) {
    const filing = await readOne(db, names.filingIds[f] ?? null);
    state.filings.push({ state: filing.state, row: rowState(filing.rows) });
    for (const number of [1, 2]) state.attempts.push(attemptOf(filing, number, names));
  }
  const { rows } = await db.query<{ number: string; sender: string }>('SELECT number, sender FROM sends');
  const taken = new Map(rows.map(({ number, sender }) => [Number(number), sender]));
  const { ledgerId } = await readIdentity(db);
  for (let n = 1; n <= sends; n += 1) {
    const sender = taken.get(n);
    state.sends.push(sender === undefined ? null : sender === NOBODY ? 'void' : names.executionOf(sender));
    state.files.push(await fileOf(store, `sent/${ledgerId}/${String(n).padStart(12, '0')}`, names));
  }
  return state;
}

async function fileOf(store: SendStore, name: string, names: Names): Promise<Sender> {
  const content = await store.readRecord(name);
  const record = content && decodeSend(content);
  if (!record) return null;
  return record.void ? 'void' : names.executionOf(record.sender);
}

async function readOne(db: Queryable, filingId: string | null): Promise<LedgerFiling> {
  const { rows: filings } = await db.query<LedgerFiling>(
    `SELECT f.state, s.request_id AS request,
       (SELECT jsonb_agg(jsonb_build_object('state', r.state, 'live', r.live)) FROM filing_rows r WHERE r.filing_id = $1) AS rows,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('number', a.number, 'state', a.state, 'sender', a.sender, 'reason', a.reason,
          'kind', a.answer ->> 'kind', 'request', a.answer ->> 'requestId')), '[]') FROM attempts a WHERE a.filing_id = $1) AS attempts
       FROM filings f JOIN submissions s USING (filing_id) WHERE f.filing_id = $1`,
    [filingId],
  );
  return filings[0] ?? NOTHING;
}

function attemptOf(filing: LedgerFiling, number: number, names: Names): ModelState['attempts'][number] {
  const state = attemptState(filing, number);
  const sender = filing.attempts.find((attempt) => attempt.number === number)?.sender ?? null;
  return {
    state: state.replace('!', ''),
    sender: sender === null ? null : names.executionOf(sender),
    markCounts: state.endsWith('!'),
  };
}

/**
 * What is compared of a state. A certificate says what an attempt still in doubt became; a sender matters while its
 * attempt is in doubt, a mark while its sender may still write.
 */
export function comparable({ filings, attempts, sends, files }: ModelState, { executions }: Step): unknown {
  return {
    filings: filings.map(({ state, row }) => ({ state, row })),
    attempts: attempts.map(({ state, sender, markCounts }, a) => {
      const shown = afterCertificate(state, filings[Math.floor(a / 2)]?.row ?? 'none');
      if (shown !== 'sending' || sender === null || sender === 'void') return { state: shown };
      return { state: shown, sender, ...(executions[sender]?.beforeWrite ? { markCounts } : {}) };
    }),
    sends,
    files,
  };
}
