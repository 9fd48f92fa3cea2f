/** What `bench/scale.ts` times: what people ask of a ledger, the transactions of a filing, and the work of a worker. */
import { join } from 'node:path';
import type pg from 'pg';
import { exporterName, HEAVY } from '../../dev/fill-ledger';
import { createDocumentStore } from '../../src/documents/document-store';
import { pageOfCertificates } from '../../src/ledger/certificates/certificates';
import { storedPdfs } from '../../src/ledger/certificates/pdfs';
import { feedEnd, placeEvents, readFeed } from '../../src/ledger/events';
import { readFigures } from '../../src/ledger/figures';
import { listFilings } from '../../src/ledger/views/lists';
import { readOpenRequests } from '../../src/ledger/attempts/records';
import { compareCompany } from '../../src/ledger/reconciliation/compare';
import { companiesAfter } from '../../src/ledger/reconciliation/runs';
import { openFilings } from '../../src/ledger/runs';
import { beatEveryMs, raiseBeat } from '../../src/ledger/time';
import { orphanedSecrets } from '../../src/ledger/retention';
import { createEbrcReader } from '../../src/starter/reader';
import {
  acceptFiling,
  chooseIrms,
  factsOfFiling,
  filing,
  HEAVY_IEC,
  type Ledger,
  madeBy,
  makeFiling,
  MODE,
  readyFiling,
  reserveFiling,
  sendFiling,
  SETTINGS,
} from './filing-steps';
import { closePages, openPage, wholeFiling } from './pages';

export interface ScaleTask {
  name: string;
  /** The longest that it may take at the largest size; left out: it must not grow. */
  mostMs?: number;
  /** Before each round, not measured. */
  prepare?: (ledger: Ledger) => Promise<unknown>;
  run: (ledger: Ledger) => Promise<unknown>;
  /** After all rounds. */
  close?: () => Promise<unknown>;
}

const SECOND = 1_000;
const LIST_MS = SECOND;

const readerOf = ({ pool, folder }: Ledger) =>
  createEbrcReader({
    ...{ pool, mode: MODE },
    documents: createDocumentStore({ root: join(folder, 'documents') }),
  });

const filingSteps: Omit<ScaleTask, 'mostMs'>[] = [
  { name: 'filing: record 10 rows', prepare: (of) => chooseIrms(of), run: makeFiling },
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
      for (const company of await companiesAfter(pool, { mode: MODE, after: HEAVY_IEC, limit: 100 }))
        await compare(pool, company, ['filings']);
    },
  },
  {
    name: 'reconcile: everything of 20 companies',
    mostMs: 4 * SECOND,
    run: async ({ pool }) => {
      for (const company of await companiesAfter(pool, { mode: MODE, after: HEAVY_IEC, limit: 20 }))
        await compare(pool, company, EVERYTHING);
    },
  },
  {
    name: 'reconcile: everything of the heavy company',
    mostMs: 20 * SECOND,
    run: ({ pool }) => compare(pool, { iec: HEAVY_IEC, exporterId: HEAVY }, EVERYTHING),
  },
  {
    name: 'heal-pdfs: the next 200',
    run: ({ pool }) => storedPdfs(pool, { mode: MODE, iec: HEAVY_IEC, began: new Date(), limit: 200, each: false }),
  },
];

type Compared = Parameters<typeof compareCompany>[1];
const EVERYTHING: Compared['checks'] = ['certificates', 'balances', 'documents', 'filings'];

function compare(pool: pg.Pool, { iec, exporterId }: Pick<Compared, 'iec' | 'exporterId'>, checks: Compared['checks']) {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const now = Date.now();
  const window = { from: day(now - 90 * 86_400_000), to: day(now), readAt: now - 30 * 86_400_000, whole: true };
  const windows = checks.includes('certificates') ? [window] : [];
  return compareCompany(pool, {
    mode: MODE,
    iec,
    exporterId,
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

const PAGE_MS = 200;
const page = (path: () => string) => ({
  mostMs: PAGE_MS,
  run: (of: Ledger) => openPage(of, path()),
  close: closePages,
});

const tasksOfPages: ScaleTask[] = [
  { name: 'page: Needs you', ...page(() => '/') },
  { name: 'page: a filing of 999 rows', prepare: wholeFiling, ...page(() => `/filings/${filing.reference}`) },
  { name: 'page: its tenth hundred of rows', ...page(() => `/filings/${filing.reference}?page=10`) },
  { name: 'page: Filings', ...page(() => '/filings') },
  { name: 'page: Certificates', ...page(() => '/certificates') },
  { name: 'page: Exporters', ...page(() => '/exporters') },
  { name: 'page: the heavy exporter', ...page(() => `/exporters/${HEAVY}`) },
];

export const SCALE_TASKS: readonly ScaleTask[] = [...filingSteps, ...tasksOfWorkers, ...tasksOfPeople, ...tasksOfPages];
