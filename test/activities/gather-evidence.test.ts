/** Certificates are adopted in one transaction: a connection that is lost in the middle leaves nothing half. */
import type pg from 'pg';
import type { CertificateDetail } from '../../src/api/schemas/filings';
import { DAY_MS } from '../../src/domain/dates';
import { documentsRestored } from '../../src/ledger/sends/documents-restored';
import { detailOf } from '../reports/ledger-of-a-month';
import { unclaimedCertificates } from '../../src/ledger/certificates/certificates';
import { saveSnapshot } from '../../src/ledger/certificates/snapshots';
import { learnIec, needExporter } from '../../src/ledger/exporters/exporters';
import { needFiling } from '../../src/ledger/filings/filings';
import { lockFiling } from '../../src/ledger/filings/filing-lock';
import { completeLook } from '../../src/ledger/gates/absence';
import { releaseAbsent } from '../../src/ledger/gates/release-absent';
import { withTransaction } from '../../src/ledger/pool';
import { attemptSteps, SETTLE_MS } from '../ledger/submissions/attempt-support';
import { eventually } from '../support/processes';
import {
  EXPORTER,
  knowExporter,
  minutesLater,
  NOW,
  open,
  readBalance,
  readBalancesAgain,
  rowsOf,
} from '../ledger/filing-support';
import { useTestDatabase } from '../support/postgres';
import { replacing } from '../support/replacing';
import { useDoor } from './door';

const DOCUMENT = '9300001';
/** All that adoption reads of a certificate. */
const CERTIFICATE = {
  eBRCNumber: 'EBRC-1',
  eBRCDate: '10022026',
  eBRCStatus: 'Issued',
  sbCumInvoiceNumber: DOCUMENT,
  sbCumInvoiceDate: '03012026',
  realisedValueFCC: 5,
  currencyCode: 'USD',
  billNo: 'EXP/2026/001',
} as CertificateDetail;

const ledger = useTestDatabase(knowExporter);
let breaks = true;
let unread = 0;
let shown: Partial<CertificateDetail>[] = [CERTIFICATE];
let clock = Date.now;
let whileRead: (asked: { eBRCIssueFromDt: string }) => Promise<unknown> = () => Promise.resolve();
const { open: openAgain, opened, mark, rows } = attemptSteps(ledger);
const door = useDoor(
  ledger,
  {
    fetchDetails: async (asked: { eBRCIssueFromDt: string }) => {
      await whileRead(asked);
      return { certificates: shown, unread };
    },
  },
  (deps) => ({ ...deps, pool: breakingPool(ledger.pool), clock: () => clock() }),
);

/** Ends the connection on which a submission is about to be settled: its rows are certified by then. */
function breakingPool(pool: pg.Pool): pg.Pool {
  const breakingClient = (client: pg.PoolClient) =>
    replacing(client, 'query', async (text: string, values?: unknown[]) => {
      if (breaks && text.startsWith('UPDATE submissions')) {
        breaks = false;
        const { rows: own } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        await pool.query('SELECT pg_terminate_backend($1)', [own[0]?.pid]);
      }
      return client.query(text, values);
    });
  return replacing(pool, 'connect', async () => breakingClient(await pool.connect()));
}

type Gather = { filingId: string; submission: number; exporterId: string; attemptId: string };
/** A look for a send has seen this. */
const expectSeen = async (args: Gather, seen: object) =>
  expect(await door.run('gatherEvidence', args)).toMatchObject(seen);

it('adopts a certificate with everything that follows from it, or not at all', async () => {
  const row = { sbCumInvoiceNumber: DOCUMENT, mappedIRMAmountFCC: 5 };
  const filingId = await open(ledger, 'ADOPTED-ONCE', rowsOf(row));
  await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId: EXPORTER, certificates: [], at: NOW });
  const attemptId = await opened(filingId);
  await mark(attemptId);
  await readBalance(ledger, 9_995, minutesLater(1));
  const args = { filingId, submission: 1, exporterId: EXPORTER, attemptId };
  const claim = 'SELECT filing_id AS by FROM certificates WHERE ebrc_number = $1';
  const claimed = async () => (await ledger.select(claim, CERTIFICATE.eBRCNumber)).map(({ by }) => by);

  expect(await door.failure('gatherEvidence', args)).toMatchObject({ type: 'ledger_unavailable' });
  expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
  expect(await claimed()).toEqual([null]);

  await expectSeen(args, { openRows: 0, adopted: [{ eBRCNumber: 'EBRC-1' }] });
  expect(await rows(filingId)).toMatchObject([{ state: 'certified', live: true }]);
  expect(await claimed()).toEqual([filingId]);
  const submissions = 'SELECT state FROM submissions WHERE filing_id = $1';
  expect(await ledger.select(submissions, filingId)).toEqual([{ state: 'settled' }]);
});

it('beats while the rows of a large submission are settled, and while it waits for the filing', async () => {
  breaks = false;
  const row = { sbCumInvoiceNumber: '9300002', mappedIRMAmountFCC: 5 };
  const filingId = await open(ledger, 'SETTLED-SLOWLY', rowsOf(row));
  const args = { filingId, submission: 1, exporterId: EXPORTER, attemptId: await opened(filingId) };
  let gathered: Promise<unknown> = Promise.resolve();
  await withTransaction(ledger.pool, async (client) => {
    await lockFiling(client, filingId);
    const asked = new Promise<void>((resolve) => (whileRead = () => Promise.resolve(resolve())));
    const { outcome, heartbeats } = door.begin('gatherEvidence', args);
    gathered = outcome;
    await asked;
    await eventually(async () => {
      const { rows: waiting } = await client.query('SELECT FROM pg_locks WHERE NOT granted');
      return waiting.length > 0;
    });
    const before = heartbeats.length;
    await eventually(() => Promise.resolve(heartbeats.length > before + 1));
  });
  await gathered;
  whileRead = () => Promise.resolve();
});

describe('what is seen for a send whose answer was lost', () => {
  let filings = 0;
  /** An exporter of its own, whose balance reads so after it was sent. */
  async function exporter() {
    filings += 1;
    const [exporterId, iec] = [`gather-${filings}`, `AAGCG${String(10_000 + filings)}`];
    await knowExporter(ledger, exporterId, iec);
    return {
      exporterId,
      balance: (left: number, minutes: number) => readBalance(ledger, left, minutesLater(minutes), exporterId, iec),
    };
  }
  /** A send, and a certificate that fits it. */
  async function lost(exporterId: string) {
    filings += 1;
    const document = String(9_310_000 + filings);
    const row = { sbCumInvoiceNumber: document, billNo: `EXP/${document}`, mappedIRMAmountFCC: 5 };
    const filingId = await open(ledger, `LOST-${filings}`, rowsOf(row), { exporterId });
    await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId, certificates: [], at: NOW });
    const attemptId = await opened(filingId);
    await mark(attemptId);
    const own = { eBRCNumber: `EBRC-${document}`, sbCumInvoiceNumber: document, billNo: row.billNo };
    const certificate = { ...CERTIFICATE, ...own };
    return { certificate, args: { filingId, submission: 1, exporterId, attemptId } };
  }
  const at = (minutes: number) => (clock = () => minutesLater(minutes).getTime());

  it('certifies nothing by a look with an entry that names neither document nor bill, or another IEC', async () => {
    const { exporterId, balance } = await exporter();
    const { certificate, args } = await lost(exporterId);
    await balance(9_995, 289);
    at(290);
    shown = [];
    // The balance bears it out before a complete look, which does not show it yet.
    await expectSeen(args, { looked: true, openRows: 1 });
    shown = [certificate, { ...certificate, eBRCNumber: 'EBRC-NOBODY', sbCumInvoiceNumber: ' ', billNo: null }];
    at(300);
    await expectSeen(args, { looked: false, openRows: 1, adopted: [] });
    // Nor by one that names another exporter's IEC, with whatever else agrees.
    shown = [{ ...certificate, iec: 'ZZGCM4521K' }];
    await expectSeen(args, { looked: false, openRows: 1, adopted: [] });
    // A bill number alone tells whose it is.
    shown = [certificate, { ...certificate, eBRCNumber: 'EBRC-NOBODY', sbCumInvoiceNumber: null, billNo: 'EXP/OTHER' }];
    await expectSeen(args, { looked: true, openRows: 0 });
  });

  it('is no list from before a send where an entry of it could not be read', async () => {
    const { exporterId } = await exporter();
    const filingId = await open(ledger, 'UNREAD', rowsOf({ sbCumInvoiceNumber: '9310900' }), { exporterId });
    shown = [CERTIFICATE];
    unread = 1;
    const { seq } = await needFiling(ledger.pool, filingId);
    const snapshot = { filingId, submission: 1, exporterId, open: { seq, after: 0 } };
    expect(await door.run('takeSnapshot', snapshot)).toMatchObject({ certificates: null });
    unread = 0;
    expect(await door.run('takeSnapshot', snapshot)).toMatchObject({ certificates: 1 });
  });

  it('keeps nothing of another IEC that a reconciliation is shown: no later look would list it', async () => {
    const { exporterId } = await exporter();
    const { certificate, args } = await lost(exporterId);
    const { partyId, iec: iecCode } = await needExporter(ledger.pool, exporterId);
    const party = { exporterId, partyId, iecCode: iecCode ?? '', from: '2026-02-01', to: '2026-02-28' };
    at(300);
    shown = [{ ...certificate, iec: 'ZZGCM4521K' }];
    expect(await door.run('readCertificates', party)).toMatchObject({ certificates: 1, whole: false });
    shown = [];
    await expectSeen(args, { looked: true, agreeing: [] });
    shown = [{ ...certificate, iec: party.iecCode }];
    expect(await door.run('readCertificates', party)).toMatchObject({ certificates: 1, whole: true });
    await expectSeen(args, { looked: true, agreeing: [certificate.eBRCNumber] });
  });

  it('is no complete look where the answer has lost a certificate that an earlier one listed', async () => {
    const { exporterId } = await exporter();
    const { args } = await lost(exporterId);
    const older = { ...CERTIFICATE, eBRCNumber: 'EBRC-LISTED', sbCumInvoiceNumber: '1', billNo: 'OTHER' };
    at(300);
    shown = [older];
    await expectSeen(args, { looked: true });
    // As in an outage that is answered with an empty list, or with a text that says that nothing was found.
    shown = [];
    const problem = expect.stringContaining('1 of the certificates that fetch-details listed before') as string;
    at(301);
    await expectSeen(args, { looked: false, problem });
    const since = minutesLater(300.5);
    expect(await completeLook(ledger.pool, { exporterId, since, from: NOW })).toBeNull();
    // What another client of the IEC was shown is no part of this one's answer, as far as is known.
    const other = `${exporterId}-other`;
    const shownTo = "UPDATE certificates SET exporter_id = $1 WHERE ebrc_number = 'EBRC-LISTED'";
    await knowExporter(ledger, other, (await needExporter(ledger.pool, exporterId)).iec ?? '');
    await ledger.select(shownTo, other);
    await expectSeen(args, { looked: true });
    await ledger.select(shownTo, exporterId);
    shown = [older];
    await expectSeen(args, { looked: true });
    expect(await completeLook(ledger.pool, { exporterId, since, from: NOW })).not.toBeNull();
  });

  it('is a look at the IEC that was asked for, and none at one that the exporter turns out to have meanwhile', async () => {
    const { exporterId } = await exporter();
    const { certificate, args } = await lost(exporterId);
    const other = `AAGCO${String(20_000 + filings)}`;
    const looked = () => completeLook(ledger.pool, { exporterId, since: minutesLater(299), from: NOW });
    shown = [certificate];
    at(300);
    whileRead = () => learnIec(ledger.pool, { exporterId, iec: other, source: 'irms', at: NOW });
    expect(await door.failure('gatherEvidence', args)).toMatchObject({ type: 'not_yet' });
    expect(await looked()).toBeNull();
    expect(await unclaimedCertificates(ledger.pool, exporterId)).toEqual([]);
    whileRead = () => Promise.resolve();
    shown = [];
    await expectSeen(args, { looked: true, openRows: 1 });
    expect(await looked()).not.toBeNull();
  });

  it('is no look after the settle window where its reading began before the end of it, however late it is answered', async () => {
    const { exporterId } = await exporter();
    const { args } = await lost(exporterId);
    const { attemptId } = args;
    const absent = () =>
      withTransaction(ledger.pool, (client) => {
        const given = { settleMs: SETTLE_MS, unseen: false, notOurs: [], reason: 'not filed', at: minutesLater(260) };
        return releaseAbsent(client, { subject: { attemptId }, ...given });
      });
    shown = [];
    at(239);
    // The answer takes nearly the HTTP time-out, and comes after the window.
    whileRead = () => Promise.resolve(at(241));
    await expectSeen(args, { looked: true });
    expect(await absent()).toMatchObject({ outcome: 'refused', code: 'look' });
    whileRead = () => Promise.resolve();
    await readBalancesAgain(ledger, exporterId, minutesLater(241));
    await expectSeen(args, { looked: true });
    expect(await absent()).toEqual({ outcome: 'again' });
  });

  describe('over more days than one answer covers', () => {
    /** Sent eight months ago: three answers. */
    async function longAgo(exporterId: string) {
      const sent = await lost(exporterId);
      const marked = `UPDATE attempts SET marked_at = $2 WHERE attempt_id = $1`;
      await ledger.select(marked, sent.args.attemptId, minutesLater(-240 * 24 * 60));
      return sent;
    }
    const looked = (exporterId: string) =>
      completeLook(ledger.pool, { exporterId, since: minutesLater(299), from: minutesLater(-240 * 24 * 60) });

    it('is complete with every answer alone', async () => {
      const { exporterId } = await exporter();
      const { args } = await longAgo(exporterId);
      shown = [];
      at(300);
      for (const lostAnswer of [0, 1, 2]) {
        let asked = 0;
        whileRead = () => (asked++ === lostAnswer ? Promise.reject(new Error('socket hang up')) : Promise.resolve());
        await door.failure('gatherEvidence', args);
        expect(asked).toBe(lostAnswer + 1);
        expect(await looked(exporterId)).toBeNull();
      }
      const days: string[] = [];
      whileRead = ({ eBRCIssueFromDt }) => Promise.resolve(days.push(eBRCIssueFromDt));
      await expectSeen(args, { looked: true });
      expect(new Set(days).size).toBe(3);
      expect(await looked(exporterId)).not.toBeNull();
    });

    it('is not complete where a certificate has left one answer, and is in another one', async () => {
      const { exporterId } = await exporter();
      const { args } = await longAgo(exporterId);
      const certificate = { ...CERTIFICATE, eBRCNumber: `EBRC-MOVES-${filings}`, sbCumInvoiceNumber: '1', billNo: 'X' };
      /** What each answer lists. */
      const answers = (...lists: Partial<CertificateDetail>[][]) => {
        let next = 0;
        whileRead = () => Promise.resolve((shown = lists[next++] ?? []));
      };
      at(299);
      answers([{ ...certificate, eBRCDate: '20072025' }]);
      await expectSeen(args, { looked: true });
      at(300);
      answers([], [], [certificate]);
      await expectSeen(args, { looked: false });
      answers([], [], [certificate]);
      await expectSeen(args, { looked: true });
      whileRead = () => Promise.resolve();
    });
  });

  it('certifies within the settle window only what the balance bears out beside everything else that was sent', async () => {
    const { exporterId, balance } = await exporter();
    const [{ certificate, args }] = [await lost(exporterId), await lost(exporterId)];
    shown = [certificate];
    at(30);
    await balance(9_995, 29);
    await expectSeen(args, { adopted: [], contradicted: [{ position: 0 }] });
    at(300);
    await expectSeen(args, { openRows: 0, contradicted: [] });
  });
});

// Last: from here on the ledger is one that was put back.
it('reads back to the copy after a restore, names the certificates that agree, and adopts none', async () => {
  const now = Date.now();
  clock = Date.now;
  const made = new Date(now - 30 * DAY_MS);
  const own = rowsOf({ sbCumInvoiceNumber: '5000001', mappedIRMAmountFCC: 10 });
  const filingId = await open(ledger, 'RESTORED', own, { at: made });
  await documentsRestored(ledger.pool, door.deps.documents, { at: new Date(now - 60_000), by: 'ravi', waitMs: 0 });
  const opened = await openAgain(filingId, 1, new Date());
  const mapping = own[0]!.mapping;
  shown = [detailOf('EBLOST', mapping, new Date(now - 20 * DAY_MS)) as CertificateDetail];
  const asked: string[] = [];
  whileRead = ({ eBRCIssueFromDt }) => Promise.resolve(asked.push(eBRCIssueFromDt));
  const args = { filingId, submission: 1, exporterId: EXPORTER, attemptId: `${filingId}-1-1` };
  expect(opened).toMatchObject({ outcome: 'attempt', attemptId: args.attemptId });
  const seen = { looked: true, adopted: [], openRows: 1, agreeing: ['EBLOST'], problem: expect.any(String) as string };
  await expectSeen(args, seen);
  expect(asked[0]).toBe(detailOf('', mapping, new Date(made.getTime() - DAY_MS)).eBRCDate);
  // It counts as the reading that filings wait for.
  const read = `SELECT p.certificates_read_at >= i.certificates_after AS read
      FROM ledger_identity i, exporters e JOIN parties p USING (party_id) WHERE e.exporter_id = $1`;
  expect(await ledger.select(read, EXPORTER)).toEqual([{ read: true }]);
});
