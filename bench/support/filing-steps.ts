/** The transactions of a filing, one by one, against a filled ledger. */
import type pg from 'pg';
import { HEAVY } from '../../dev/fill-ledger';
import { mappingRow } from '../../dev/sample-mapping';
import { filingSettings, loadConfig } from '../../src/config/config';
import { storeAnswer } from '../../src/ledger/attempts/answer';
import type { StoredAnswer } from '../../src/ledger/attempts/attempts';
import { beginToSend } from '../../src/ledger/attempts/send';
import { readFacts } from '../../src/ledger/filings/facts';
import { lockFiling, lockIrmsOf, type LockedFiling } from '../../src/ledger/filings/lock';
import { recordFiling } from '../../src/ledger/filings/record';
import { reserveBalances } from '../../src/ledger/filings/reserve';
import { withTransaction } from '../../src/ledger/pool';
import { createSeenTime, readLedgerTime } from '../../src/ledger/time';

export interface Ledger {
  pool: pg.Pool;
  /** A folder for what is written. */
  folder: string;
}

export const MODE = 'test';
export const SETTINGS = filingSettings(loadConfig({}, { need: ['tuning', 'filing'] }));
/** The company of the heavy exporter. */
export const HEAVY_IEC = 'I000000001';

/** The filing of the heavy exporter that was made last; steps take it further, or make another one before. */
export const filing = { id: '', reference: '', made: 0, irms: [] as { irmNumber: string; irmDt: string }[] };

export async function chooseIrms({ pool }: Ledger, count = 10): Promise<void> {
  filing.made += 1;
  const { rows } = await pool.query<{ irmNumber: string; irmDt: string }>(
    `SELECT irm_number AS "irmNumber", issue_date AS "irmDt" FROM irms
      WHERE exporter_id = $1 AND available >= 6000 ORDER BY irm_number DESC LIMIT 200`,
    [HEAVY],
  );
  if (rows.length === 0) throw new Error('There is no IRM with a balance left.');
  // Others each time: a small ledger has few.
  filing.irms = Array.from({ length: count }, (_, nth) => rows[(filing.made * 10 + nth) % rows.length]!);
}

export async function makeFiling({ pool }: Ledger): Promise<void> {
  const reference = `BENCH-${Date.now()}-${filing.made}`;
  const rows = filing.irms.map((irm, nth) => {
    const document = `${reference}-${nth}`;
    return mappingRow({
      ...irm,
      ...{ serialNo: nth + 1, sbCumInvoiceNumber: document, billNo: document, mappedIRMAmountFCC: 1 },
    });
  });
  const recorded = await recordFiling(pool, {
    input: { mode: MODE, exporterId: HEAVY, n: 1 },
    ...{ reference, rows, uploadType: 101, declaration: 'Y', channel: 'push', contentHash: reference, inputRef: null },
    ...{ workflowId: `file/test/${reference}`, warnings: [], allowDuplicate: [], settings: SETTINGS },
    maker: { principalId: null, name: 'bench' },
  });
  if (recorded.outcome !== 'recorded') throw new Error(JSON.stringify(recorded));
  Object.assign(filing, { id: recorded.filingId, reference });
}

/** What the check and a reading leave behind. */
export const readyFiling = ({ pool }: Ledger) =>
  pool.query(
    `WITH reading AS (INSERT INTO readings (mode, iec, exporter_id, ended_at, whole, irms_whole)
       VALUES ('test', $2, $3, clock_timestamp(), true, true))
     UPDATE filings SET checked_at = clock_timestamp() WHERE filing_id = $1`,
    [filing.id, HEAVY_IEC, HEAVY],
  );

/** One transaction under the filing's locks. */
const locked = <T>({ pool }: Ledger, work: (client: pg.PoolClient, held: LockedFiling) => Promise<T>): Promise<T> =>
  withTransaction(pool, async (client) => {
    await lockIrmsOf(client, filing.id);
    return work(client, await lockFiling(client, filing.id));
  });

export const factsOfFiling = (of: Ledger) => locked(of, (client, held) => readFacts(client, held, SETTINGS));

export const reserveFiling = (of: Ledger) =>
  locked(of, async (client, held) => {
    const { outcome, findings } = await reserveBalances(client, held);
    if (outcome !== 'reserved') throw new Error(`${outcome}: ${JSON.stringify(findings[0])}`);
  });

export async function sendFiling({ pool }: Ledger): Promise<void> {
  const { epoch, beat } = await readLedgerTime(pool, MODE);
  const refusal = await withTransaction(pool, (client) =>
    beginToSend(client, {
      ...{ filingId: filing.id, n: 1, time: { epoch, beat }, sender: 'bench', payloadHash: 'h', document: null },
      ...{ seen: createSeenTime(), settleMs: SETTINGS.settleAfterMs, timeoutMs: SETTINGS.httpTimeoutMs },
    }),
  );
  if (refusal !== null) throw new Error(refusal);
}

export const acceptFiling = ({ pool }: Ledger) =>
  withTransaction(pool, (client) =>
    storeAnswer(client, {
      ...{ filingId: filing.id, mode: MODE, n: 1, sender: 'bench' },
      answer: { kind: 'accepted', status: 200, requestId: `R${filing.id}`, dgftAckId: 'A' } as StoredAnswer,
    }),
  );

/** Makes a filing and takes it through these steps. */
export const madeBy =
  (...steps: ((ledger: Ledger) => Promise<unknown>)[]) =>
  async (ledger: Ledger): Promise<void> => {
    for (const step of [(of: Ledger) => chooseIrms(of), makeFiling, ...steps]) await step(ledger);
  };
