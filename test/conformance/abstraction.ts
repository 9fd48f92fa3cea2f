/** What the ledger and the document store hold, in the model's words, and how the two are compared. */
import { decodeSend, NOBODY } from '../../src/ledger/sends/send-record';
import { readIdentity, type SendStore } from '../../src/ledger/sends/sends';
import type { Queryable } from '../../src/ledger/pool';
import type { ModelState, Sender, Step } from './model-trace';

/** What the driver knows and the ledger does not say in the model's words. */
export interface Names {
  filingIds: (string | null)[];
  /** The execution of a sender's id. */
  executionOf: (sender: string) => number | null;
  /** The attempt (the model's number) that a request id was given to. */
  attemptOfRequest: (requestId: string) => number | null;
}

interface LedgerRow {
  filing: string | null;
  row: string | null;
  live: boolean | null;
  request: string | null;
  submission: string | null;
}
interface LedgerAttempt {
  number: number;
  state: string;
  kind: string | null;
  sender: string | null;
  reason: string | null;
}

/** The model's state that the ledger and the store amount to. */
export async function abstractionOf(db: Queryable, store: SendStore, names: Names, sends: number): Promise<ModelState> {
  const state: ModelState = { filings: [], attempts: [], sends: [], files: [] };
  for (const f of [0, 1]) {
    const { filing, attempts } = await readOne(db, names.filingIds[f] ?? null);
    state.filings.push({ state: (filing?.filing ?? 'none') as never, row: rowOf(filing) });
    for (const number of [1, 2])
      state.attempts.push(attemptOf({ filing, attempts, number, names, a: f * 2 + number - 1 }));
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

async function readOne(
  db: Queryable,
  filingId: string | null,
): Promise<{ filing: LedgerRow | null; attempts: LedgerAttempt[] }> {
  if (filingId === null) return { filing: null, attempts: [] };
  const { rows } = await db.query<LedgerRow>(
    `SELECT f.state AS filing, r.state AS row, r.live, s.request_id AS request, s.state AS submission
       FROM filings f JOIN filing_rows r USING (filing_id) JOIN submissions s USING (filing_id) WHERE f.filing_id = $1`,
    [filingId],
  );
  const { rows: attempts } = await db.query<LedgerAttempt>(
    `SELECT number, state, answer ->> 'kind' AS kind, sender, reason FROM attempts WHERE filing_id = $1 ORDER BY number`,
    [filingId],
  );
  return { filing: rows[0] ?? null, attempts };
}

/** A row that is submitted and one of unknown outcome are the same to the model; so are all that are not live. */
function rowOf(filing: LedgerRow | null): ModelState['filings'][number]['row'] {
  if (filing === null) return 'none';
  if (!filing.live) return 'freed';
  return filing.row === 'unknown' ? 'submitted' : (filing.row as 'planned');
}

function attemptOf(of: {
  filing: LedgerRow | null;
  attempts: LedgerAttempt[];
  number: number;
  names: Names;
  a: number;
}): ModelState['attempts'][number] {
  const { filing, attempts, number, names, a } = of;
  const own = attempts.find((each) => each.number === number);
  if (!own)
    return { state: isLostInDoubt(filing, attempts, number) ? 'sending' : 'none', sender: null, markCounts: false };
  const sender = own.sender === null ? null : names.executionOf(own.sender);
  const markCounts = own.state === 'sending' && own.reason === null;
  const state = (): ModelState['attempts'][number]['state'] => {
    if (own.state === 'open') return 'open';
    if (own.state === 'not_sent')
      return own.kind === null ? 'not_sent' : own.kind === 'accepted' ? 'errored' : 'refused';
    // A person found its request at the service.
    const found = filing?.request ? names.attemptOfRequest(filing.request) : null;
    if (own.state === 'sending') return found === a ? 'accepted' : 'sending';
    return filing?.submission === 'terminal' && filing.row === 'needs_correction' && found === a
      ? 'errored'
      : 'accepted';
  };
  return { state: state(), sender, markCounts };
}

/**
 * The ledger has no line for an attempt that it lost: its rows are of unknown outcome, and nothing else is under way.
 */
function isLostInDoubt(filing: LedgerRow | null, attempts: LedgerAttempt[], number: number): boolean {
  if (!filing?.live || filing.row !== 'unknown') return false;
  if (attempts.some(({ state }) => state !== 'not_sent')) return false;
  return number === Math.max(0, ...attempts.map((each) => each.number)) + 1;
}

/**
 * What is compared of a state. The move of a filing follows an acceptance, and a certificate says what an attempt still
 * in doubt became; a sender matters while its attempt is in doubt, a mark while its sender may still write.
 */
export function comparable({ filings, attempts, sends, files }: ModelState, { executions }: Step): unknown {
  return {
    filings: filings.map(({ state, row }, f) => {
      const accepted = attempts.slice(f * 2, f * 2 + 2).some((attempt) => attempt.state === 'accepted');
      const open = ['checking', 'submitting', 'outcome_unknown'].includes(state);
      return { state: accepted && open ? 'processing' : state, row };
    }),
    attempts: attempts.map(({ state, sender, markCounts }, a) => {
      const certified = filings[Math.floor(a / 2)]?.row === 'certified';
      const shown = certified && state === 'sending' ? 'accepted' : state;
      if (shown !== 'sending' || sender === null || sender === 'void') return { state: shown };
      return { state: shown, sender, ...(executions[sender]?.beforeWrite ? { markCounts } : {}) };
    }),
    sends,
    files,
  };
}
