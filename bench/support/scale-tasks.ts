/** What `bench/scale.ts` times: what people ask of a ledger, the transactions of a filing, and the work of a worker. */
import { join } from 'node:path';
import type pg from 'pg';
import { exporterName, HEAVY } from '../../dev/fill-ledger';
import { mappingRow } from '../../dev/sample-mapping';
import { filingSettings, loadConfig } from '../../src/config/config';
import { createDocumentStore } from '../../src/documents/document-store';
import { pageOfCertificates } from '../../src/ledger/certificates/certificates';
import { storedPdfs } from '../../src/ledger/certificates/pdfs';
import { feedEnd, placeEvents, readFeed } from '../../src/ledger/events';
import { readFigures } from '../../src/ledger/figures';
import { storeAnswer } from '../../src/ledger/attempts/answer';
import type { StoredAnswer } from '../../src/ledger/attempts/attempts';
import { readFacts } from '../../src/ledger/filings/facts';
import { listFilings } from '../../src/ledger/views/lists';
import { lockFiling, lockIrmsOf, type LockedFiling } from '../../src/ledger/filings/lock';
import { recordFiling } from '../../src/ledger/filings/record';
import { readOpenRequests } from '../../src/ledger/attempts/records';
import { reserveBalances } from '../../src/ledger/filings/reserve';
import { beginToSend } from '../../src/ledger/attempts/send';
import { withTransaction } from '../../src/ledger/pool';
import { compareCompany } from '../../src/ledger/reconciliation/compare';
import { companiesAfter } from '../../src/ledger/reconciliation/runs';
import { openFilings } from '../../src/ledger/runs';
import { beatEveryMs, raiseBeat, readLedgerTime } from '../../src/ledger/time';
import { orphanedSecrets } from '../../src/ledger/retention';
import { createEbrcReader } from '../../src/starter/reader';

interface Ledger {
  pool: pg.Pool;
  /** A folder for what is written. */
  folder: string;
}

export interface ScaleTask {
  name: string;
  /** The longest that it may take at the largest size; left out: it must not grow. */
  mostMs?: number;
  /** Before each round, not measured. */
  prepare?: (ledger: Ledger) => Promise<unknown>;
  run: (ledger: Ledger) => Promise<unknown>;
}

const MODE = 'test';
const SECOND = 1_000;
const LIST_MS = SECOND;

const readerOf = ({ pool, folder }: Ledger) =>
  createEbrcReader({
    ...{ pool, mode: MODE },
    documents: createDocumentStore({ root: join(folder, 'documents') }),
  });

const SETTINGS = filingSettings(loadConfig({}, { need: ['tuning', 'filing'] }));
/** The company of the heavy exporter. */
const HEAVY_IEC = 'I000000001';

/** The filing of the heavy exporter that was made last; steps take it further, or make another one before. */
const filing = { id: '', made: 0, irms: [] as { irmNumber: string; irmDt: string }[] };

async function chooseIrms({ pool }: Ledger): Promise<void> {
  filing.made += 1;
  const { rows } = await pool.query<{ irmNumber: string; irmDt: string }>(
    `SELECT irm_number AS "irmNumber", issue_date AS "irmDt" FROM irms
      WHERE exporter_id = $1 AND available >= 6000 ORDER BY irm_number DESC LIMIT 200`,
    [HEAVY],
  );
  if (rows.length === 0) throw new Error('There is no IRM with a balance left.');
  // Others each time: a small ledger has few.
  filing.irms = Array.from({ length: 10 }, (_, nth) => rows[(filing.made * 10 + nth) % rows.length]!);
}

async function makeFiling({ pool }: Ledger): Promise<void> {
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
  filing.id = recorded.filingId;
}

/** What the check and a reading leave behind. */
const readyFiling = ({ pool }: Ledger) =>
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

const factsOfFiling = (of: Ledger) => locked(of, (client, held) => readFacts(client, held, SETTINGS));

const reserveFiling = (of: Ledger) =>
  locked(of, async (client, held) => {
    const { outcome, findings } = await reserveBalances(client, held);
    if (outcome !== 'reserved') throw new Error(`${outcome}: ${JSON.stringify(findings[0])}`);
  });

async function sendFiling({ pool }: Ledger): Promise<void> {
  const { epoch, beat } = await readLedgerTime(pool, MODE);
  const refusal = await withTransaction(pool, (client) =>
    beginToSend(client, {
      ...{ filingId: filing.id, n: 1, time: { epoch, beat }, sender: 'bench', payloadHash: 'h', document: null },
      ...{ settleMs: SETTINGS.settleAfterMs, timeoutMs: SETTINGS.httpTimeoutMs },
    }),
  );
  if (refusal !== null) throw new Error(refusal);
}

const acceptFiling = ({ pool }: Ledger) =>
  withTransaction(pool, (client) =>
    storeAnswer(client, {
      ...{ filingId: filing.id, mode: MODE, n: 1, sender: 'bench' },
      answer: { kind: 'accepted', status: 200, requestId: `R${filing.id}`, dgftAckId: 'A' } as StoredAnswer,
    }),
  );

/** Makes a filing and takes it through these steps. */
const madeBy =
  (...steps: ((ledger: Ledger) => Promise<unknown>)[]) =>
  async (ledger: Ledger): Promise<void> => {
    for (const step of [chooseIrms, makeFiling, ...steps]) await step(ledger);
  };

const filingSteps: Omit<ScaleTask, 'mostMs'>[] = [
  { name: 'filing: record 10 rows', prepare: chooseIrms, run: makeFiling },
  { name: 'filing: facts before the send', prepare: madeBy(readyFiling), run: factsOfFiling },
  { name: 'filing: reserve balances', prepare: madeBy(readyFiling), run: reserveFiling },
  { name: 'filing: begin to send', prepare: madeBy(readyFiling, reserveFiling), run: sendFiling },
  { name: 'filing: accepted', prepare: madeBy(readyFiling, reserveFiling, sendFiling), run: acceptFiling },
  { name: 'filing: facts after the send', run: factsOfFiling },
  { name: 'poll: the open requests', run: ({ pool }) => readOpenRequests(pool, filing.id, Date.now()) },
];

const tasksOfWorkers: ScaleTask[] = [
  { name: 'worker: beat', run: ({ pool }) => raiseBeat(pool, beatEveryMs(SETTINGS.settleAfterMs)) },
  { name: 'worker: figures', run: ({ pool }) => readFigures(pool, MODE), mostMs: 100 },
  { name: 'worker: relay events', run: ({ pool }) => placeEvents(pool) },
  {
    name: 'worker: a page of the sweep',
    run: ({ pool }) => openFilings(pool, { mode: MODE, after: '', limit: 100 }),
  },
  { name: 'worker: passwords that nothing needs', run: ({ pool }) => orphanedSecrets(pool, MODE, SECOND) },
  {
    name: 'reconcile: filings of 100 companies',
    mostMs: 2 * SECOND,
    run: async ({ pool }) => {
      for (const { iec } of await companiesAfter(pool, { mode: MODE, after: HEAVY_IEC, limit: 100 }))
        await compare(pool, iec, ['filings']);
    },
  },
  {
    name: 'reconcile: everything of 20 companies',
    mostMs: 4 * SECOND,
    run: async ({ pool }) => {
      for (const { iec } of await companiesAfter(pool, { mode: MODE, after: HEAVY_IEC, limit: 20 }))
        await compare(pool, iec, EVERYTHING);
    },
  },
  {
    name: 'reconcile: everything of the heavy company',
    mostMs: 20 * SECOND,
    run: ({ pool }) => compare(pool, HEAVY_IEC, EVERYTHING),
  },
  {
    name: 'heal-pdfs: the next 200',
    run: ({ pool }) => storedPdfs(pool, { mode: MODE, iec: HEAVY_IEC, began: new Date(), limit: 200, each: false }),
  },
];

type Compared = Parameters<typeof compareCompany>[1];
const EVERYTHING: Compared['checks'] = ['certificates', 'balances', 'documents', 'filings'];

function compare(pool: pg.Pool, iec: string | null, checks: Compared['checks']) {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const now = Date.now();
  const window = { from: day(now - 90 * 86_400_000), to: day(now), readAt: now - 30 * 86_400_000, whole: true };
  const windows = checks.includes('certificates') ? [window] : [];
  return compareCompany(pool, {
    mode: MODE,
    iec,
    exporterId: HEAVY,
    checks,
    windows,
    overdueAfterMs: SETTINGS.overdueAfterMs,
  });
}

const tasksOfPeople: ScaleTask[] = [
  { name: 'list: first page', mostMs: LIST_MS, run: (of) => readerOf(of).list({ limit: 100 }) },
  {
    name: 'list: of the heavy exporter',
    mostMs: LIST_MS,
    run: (of) => readerOf(of).list({ exporter: HEAVY, limit: 100 }),
  },
  {
    name: 'list: of another exporter',
    mostMs: LIST_MS,
    run: (of) => readerOf(of).list({ exporter: exporterName(77), limit: 100 }),
  },
  {
    name: 'list: that need somebody',
    mostMs: LIST_MS,
    run: (of) => readerOf(of).list({ attention: true, limit: 100 }),
  },
  {
    name: 'list: in one state',
    mostMs: LIST_MS,
    run: (of) => readerOf(of).list({ states: ['collecting'], limit: 100 }),
  },
  {
    name: 'list: one that is found by a request',
    mostMs: LIST_MS,
    run: (of) => readerOf(of).list({ search: 'R17', limit: 100 }),
  },
  {
    name: 'API: filings of ten exporters, deep in the list',
    mostMs: LIST_MS,
    run: ({ pool }) =>
      listFilings(pool, {
        mode: MODE,
        exporters: [...Array(10).keys()].map((nth) => exporterName(nth + 20).toLowerCase()),
        after: { madeAt: String((Date.now() - 200 * 86_400_000) * 1_000), filingId: 'F' },
        limit: 100,
      }),
  },
  { name: 'show', mostMs: LIST_MS, run: (of) => readerOf(of).show('REF-10') },
  {
    name: 'certificates: first page',
    mostMs: LIST_MS,
    run: ({ pool }) => pageOfCertificates(pool, { mode: MODE, exporters: null, limit: 100 }),
  },
  {
    name: 'certificates: of the heavy exporter',
    mostMs: LIST_MS,
    run: ({ pool }) => pageOfCertificates(pool, { mode: MODE, exporters: null, exporterId: HEAVY, limit: 100 }),
  },
  {
    name: 'findings: first page',
    mostMs: LIST_MS,
    run: (of) => readerOf(of).findingPages({ limit: 100 }).next(),
  },
  { name: 'exporters: first page', mostMs: LIST_MS, run: (of) => readerOf(of).exporterPages({ limit: 100 }).next() },
  {
    name: 'irms of the heavy exporter: first page',
    mostMs: LIST_MS,
    run: (of) => readerOf(of).irmPages(HEAVY, { limit: 100 }).next(),
  },
  { name: 'events: the end of the feed', mostMs: LIST_MS, run: readEvents },
  { name: 'irms of the heavy exporter', mostMs: 3 * SECOND, run: (of) => readerOf(of).irms(HEAVY) },
  { name: 'report daily', mostMs: 20 * SECOND, run: (of) => reportOf(of, 'daily') },
  { name: 'report ageing', mostMs: 20 * SECOND, run: (of) => reportOf(of, 'ageing') },
];

async function readEvents({ pool }: Ledger): Promise<void> {
  const end = await feedEnd(pool);
  await readFeed(pool, { mode: MODE, after: end, exporters: null, limit: 100 });
}

const reportOf = (of: Ledger, report: 'daily' | 'ageing') =>
  readerOf(of).report({ report, path: join(of.folder, `${report}.html`) });

export const SCALE_TASKS: readonly ScaleTask[] = [...filingSteps, ...tasksOfWorkers, ...tasksOfPeople];
