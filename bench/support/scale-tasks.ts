/** What `bench/scale.ts` times: what people ask of a ledger, the transactions of a filing, and the work of a worker. */
import { loadConfig } from '../../src/config/config';
import { join } from 'node:path';
import type pg from 'pg';
import { exporterName, HEAVY } from '../../dev/fill-ledger';
import { mappingRow } from '../../dev/sample-mapping';
import { attemptIdOf } from '../../src/domain/filing/attempt';
import { createDocumentStore } from '../../src/documents/document-store';
import { pageOfCertificates } from '../../src/ledger/certificates/certificates';
import { saveSnapshot } from '../../src/ledger/certificates/snapshots';
import { feedEnd, readFeed, placeEvents } from '../../src/ledger/events';
import { readFigures } from '../../src/ledger/figures';
import { pageOfFilings } from '../../src/ledger/filings/filing-pages';
import { lockFiling } from '../../src/ledger/filings/filing-lock';
import { openFilingsAfter } from '../../src/ledger/filings/open-filings';
import { readReadiness } from '../../src/ledger/filings/first-move';
import { certifyByRecord } from '../../src/ledger/gates/certify';
import { markSending } from '../../src/ledger/gates/send';
import { withTransaction } from '../../src/ledger/pool';
import { compareParty } from '../../src/ledger/reconciliation/compare';
import { storedPdfs } from '../../src/ledger/certificates/pdfs';
import { openFilingsOf, partiesAfter } from '../../src/ledger/reconciliation/runs';
import { reserveBalances } from '../../src/ledger/rows/balance-reservation';
import { readToCount } from '../../src/ledger/sends/conclusion';
import { storeAnswer } from '../../src/ledger/submissions/answers';
import { openAttempt } from '../../src/ledger/submissions/attempts';
import { endedWithRequests, readNextPoll, readRequests } from '../../src/ledger/submissions/requests';
import { orphanedSecrets } from '../../src/ledger/vault/vault';
import { proposeMappings } from '../../src/assistant/proposals/propose';
import { createEbrcReader } from '../../src/starter/reader';
import { open } from '../../test/ledger/filing-support';

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
    ...{ pool, mode: MODE, cadence: loadConfig({}, { need: ['tuning', 'filing'] }) },
    documents: createDocumentStore({ root: join(folder, 'documents') }),
  });

/** The filing of the heavy exporter that was made last; steps take it further, or make another one before. */
const filing = { id: '', made: 0, irms: [] as { irmNumber: string; irmDt: string }[] };
const attempt = () => attemptIdOf(filing.id, 1, 1);

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

async function recordFiling({ pool }: Ledger): Promise<void> {
  const reference = `BENCH-${Date.now()}-${filing.made}`;
  const rows = filing.irms.map((irm, nth) =>
    mappingRow({ ...irm, serialNo: nth + 1, sbCumInvoiceNumber: `${reference}-${nth}`, mappedIRMAmountFCC: 1 }),
  );
  filing.id = await open({ pool }, reference, rows, { exporterId: HEAVY, at: new Date() });
}

/** What fetch-details lists before a send of the heavy exporter: the certificates of today and yesterday. */
const listed: string[] = [];
async function readList({ pool }: Ledger): Promise<void> {
  const { rows } = await pool.query<{ number: string }>(
    `SELECT ebrc_number AS number FROM certificates WHERE party_id = 1 AND issued_on >= (now() AT TIME ZONE 'Asia/Kolkata')::date - 1`,
  );
  listed.splice(0, Infinity, ...rows.map(({ number }) => number));
}

const lookBeforeSend = ({ pool }: Ledger) =>
  saveSnapshot(pool, { filingId: filing.id, submission: 1, exporterId: HEAVY, certificates: listed, at: new Date() });

const reserveFiling = ({ pool }: Ledger) =>
  reserveBalances(pool, { filingId: filing.id, at: new Date() }, (_, findings) => {
    if (findings.some(({ severity }) => severity === 'error')) throw new Error(JSON.stringify(findings[0]));
    return Promise.resolve();
  });

async function sendFiling({ pool }: Ledger): Promise<void> {
  const at = new Date();
  const send = { sender: 'bench', payloadHash: 'h', settleMs: 0, timeoutMs: 0, at };
  const mark = await withTransaction(pool, async (client) => {
    const held = await lockFiling(client, filing.id);
    if (!held) throw new Error(`There is no filing ${filing.id}.`);
    await openAttempt(client, held, { submission: 1, at });
    return markSending(client, { attemptId: attempt(), ...send });
  });
  if (!mark.marked) throw new Error(mark.reason);
}

const acceptFiling = ({ pool }: Ledger) =>
  withTransaction(pool, (client) =>
    storeAnswer(client, {
      attemptId: attempt(),
      answer: { kind: 'accepted', status: 200, requestId: `R${filing.id}`, dgftAckId: 'A' },
      at: new Date(),
    }),
  );

async function certifyFiling({ pool }: Ledger): Promise<void> {
  const records = [...Array(10).keys()].map((position) => ({
    position,
    eBRCNumber: `E-${filing.id}-${position}`,
    eBRCDate: '10022026',
  }));
  await withTransaction(pool, (client) =>
    certifyByRecord(client, { filingId: filing.id, submission: 1, exporterId: HEAVY, records, at: new Date() }),
  );
}

/** Makes a filing and takes it through these steps. */
const madeBy =
  (...steps: ((ledger: Ledger) => Promise<unknown>)[]) =>
  async (ledger: Ledger): Promise<void> => {
    for (const step of [chooseIrms, recordFiling, ...steps]) await step(ledger);
  };

const filingSteps: Omit<ScaleTask, 'mostMs'>[] = [
  { name: 'filing: record 10 rows', prepare: chooseIrms, run: recordFiling },
  { name: 'filing: readiness', run: ({ pool }) => readReadiness(pool, { filingId: filing.id, exporterId: HEAVY }) },
  { name: 'filing: check and reserve balances', prepare: madeBy(), run: reserveFiling },
  {
    name: 'filing: snapshot before the send',
    prepare: madeBy(reserveFiling, readList),
    run: lookBeforeSend,
  },
  { name: 'filing: open an attempt and mark it', prepare: madeBy(reserveFiling, lookBeforeSend), run: sendFiling },
  { name: 'filing: what is kept of a send', run: ({ pool }) => readToCount(pool, attempt()) },
  { name: 'filing: accepted', prepare: madeBy(reserveFiling, lookBeforeSend, sendFiling), run: acceptFiling },
  {
    name: 'poll: a request that has no outcome',
    run: async ({ pool }) => {
      await readRequests(pool, filing.id, 1);
      await readNextPoll(pool, { filingId: filing.id, submission: 1, mode: MODE, at: new Date() });
    },
  },
  {
    name: 'filing: certify 10 rows',
    prepare: madeBy(reserveFiling, lookBeforeSend, sendFiling, acceptFiling),
    run: certifyFiling,
  },
];

const tasksOfWorkers: ScaleTask[] = [
  { name: 'worker: figures', run: ({ pool }) => readFigures(pool, MODE), mostMs: 100 },
  { name: 'worker: relay events', run: ({ pool }) => placeEvents(pool) },
  {
    name: 'worker: a page of the sweep',
    run: ({ pool }) => openFilingsAfter(pool, { mode: MODE, after: '', limit: 100 }),
  },
  {
    name: 'worker: requests of ended filings',
    run: ({ pool }) => endedWithRequests(pool, { mode: MODE, before: new Date(), limit: 100 }),
  },
  { name: 'worker: passwords that nothing needs', run: ({ pool }) => orphanedSecrets(pool, MODE, SECOND) },
  {
    name: 'reconcile: filings of 100 parties',
    mostMs: 2 * SECOND,
    run: async ({ pool }) => {
      for (const { partyId } of await partiesAfter(pool, { mode: MODE, after: 1, limit: 100 })) {
        await compare(pool, partyId, ['filings']);
        await openFilingsOf(pool, { mode: MODE, partyId });
      }
    },
  },
  {
    name: 'reconcile: everything of 20 parties',
    mostMs: 4 * SECOND,
    run: async ({ pool }) => {
      for (const { partyId } of await partiesAfter(pool, { mode: MODE, after: 1, limit: 20 }))
        await compareAll(pool, partyId);
    },
  },
  { name: 'reconcile: everything of the heavy party', mostMs: 20 * SECOND, run: ({ pool }) => compareAll(pool, 1) },
  {
    name: 'heal-pdfs: the next 200',
    run: ({ pool }) => storedPdfs(pool, { partyId: 1, began: new Date(), limit: 200, each: false }),
  },
];

const compareAll = (pool: pg.Pool, partyId: number) =>
  compare(pool, partyId, ['certificates', 'balances', 'documents', 'filings']);

function compare(pool: pg.Pool, partyId: number, checks: Parameters<typeof compareParty>[1]['checks']) {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const now = Date.now();
  const window = { from: day(now - 90 * 86_400_000), to: day(now), readAt: new Date(now - 30 * 86_400_000) };
  const windows = checks.includes('certificates') ? [window] : [];
  const args = { mode: MODE, partyId, checks, windows, withoutWorkflow: [], overdueAfterMs: 4 * 3_600_000 };
  return compareParty(pool, { ...args, at: new Date(now) });
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
      pageOfFilings(pool, {
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
  {
    name: 'propose for the heavy exporter',
    mostMs: 3 * SECOND,
    run: ({ pool }) => proposeMappings({ pool, mode: MODE }, { exporter: HEAVY }),
  },
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
