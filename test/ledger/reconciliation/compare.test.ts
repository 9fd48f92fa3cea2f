/** A settled ledger has no findings; one with differences has exactly those, once. */
import { saveCertificates, type CertificateDetailRecord } from '../../../src/ledger/certificates/certificates';
import { learnIec, saveExporter } from '../../../src/ledger/exporters/exporters';
import { compareParty } from '../../../src/ledger/reconciliation/compare';
import { markArchived, markPdfMissing, savePdfChecks } from '../../../src/ledger/certificates/pdfs';
import { acknowledgeFinding, listFindings } from '../../../src/ledger/reconciliation/findings';
import { freeRows } from '../../../src/ledger/gates/held-rows';
import { certifyByPersons } from '../../../src/ledger/gates/certify';
import { getFiling, needFiling } from '../../../src/ledger/filings/filings';
import { detachFreed, readQuestions } from '../../../src/ledger/questions/questions';
import { partyToReconcile, readingBegins } from '../../../src/ledger/reconciliation/runs';
import { RECONCILE_CHECKS } from '../../../src/domain/reconciliation/findings';
import { withTransaction } from '../../../src/ledger/pool';
import { markBad } from '../../../src/ledger/vault/credentials';
import { detailOf, HOUR_MS, tell } from '../../reports/ledger-of-a-month';
import { useTestDatabase } from '../../support/postgres';
import {
  customerRecord,
  EXPORTER,
  knowExporter,
  move,
  NOW,
  open,
  readBalance,
  recordProgress,
  rowsOf,
} from '../filing-support';
import { releaseUnsent } from '../ledger-steps';

const ledger = useTestDatabase();
let partyId: number;
/** The certificates that the authority has; each reading shows them as they are then. */
let authority: CertificateDetailRecord[];

const ROWS = [1, 2, 3, 4, 5].map((n) => ({ sbCumInvoiceNumber: String(600 + n), mappedIRMAmountFCC: 1_000 }));
const ISSUED = new Date(NOW.getTime() + HOUR_MS);

async function reconcile(
  minutes: number,
  days = { from: '2026-01-01', to: '2026-03-31' },
): ReturnType<typeof compareParty> {
  const readAt = await readingBegins(ledger.pool);
  const at = new Date(NOW.getTime() + minutes * 60_000);
  await saveCertificates(ledger.pool, { exporterId: EXPORTER, details: authority, askedAt: at, at: NOW });
  return compareParty(ledger.pool, {
    mode: 'test',
    partyId,
    checks: RECONCILE_CHECKS,
    windows: [{ ...days, readAt }],
    withoutWorkflow: [],
    overdueAfterMs: 4 * HOUR_MS,
    at,
  });
}
const lookAtPdf = (digit: string, problem: 'damaged' | null) =>
  savePdfChecks(ledger.pool, { partyId, looks: [{ eBRCNumber: 'EB5', found: digit.repeat(64), problem }], at: NOW });
/** A reconciliation at this minute opens and closes so many findings, and leaves so many open. */
const comesTo = async (minutes: number, opened: number, closed: number, open: number) =>
  expect(await reconcile(minutes)).toEqual({ opened, closed, open });
const findings = async () =>
  (await listFindings(ledger.pool, { mode: 'test', partyId })).map(({ lastSeenAt: _, ageDays: __, ...rest }) => rest);

beforeAll(async () => {
  await knowExporter(ledger);
  partyId = (await partyToReconcile(ledger.pool, EXPORTER))?.partyId ?? 0;
  const rows = ROWS.map((row, index) => ({ ...row, becomes: { certificate: `EB${index + 1}` } }));
  await tell(ledger, { reference: 'SETTLED', madeAt: NOW, hours: 1, rows });
  await readBalance(ledger, 5_000, ISSUED);
  authority = rowsOf(...ROWS).map(({ mapping }, index) => detailOf(`EB${index + 1}`, mapping, ISSUED));
});

it('finds nothing in a settled ledger', () => comesTo(60, 0, 0, 0));

it('keeps what a later call has shown where the answer of an earlier one comes after it', async () => {
  const shown = async (status: string, askedAt: Date) => {
    const details = authority.map((detail) => ({ ...detail, eBRCNumber: 'EB-LATE', eBRCStatus: status }));
    await saveCertificates(ledger.pool, { exporterId: EXPORTER, details: details.slice(0, 1), askedAt, at: ISSUED });
  };
  await shown('Issued', NOW);
  await shown('Cancelled', ISSUED);
  await shown('Issued', new Date(ISSUED.getTime() - 1));
  const changes = `SELECT count(*)::int FROM certificate_changes WHERE ebrc_number = 'EB-LATE'`;
  const known = `SELECT status, (${changes}) AS changes FROM certificates WHERE ebrc_number = 'EB-LATE'`;
  expect(await ledger.select(known)).toEqual([{ status: 'Cancelled', changes: 1 }]);
  await ledger.pool.query(`DELETE FROM certificates WHERE ebrc_number = 'EB-LATE'`);
});

it('takes another spelling of a status for the same status', async () => {
  const asRead = authority;
  authority = asRead.map((detail) => ({ ...detail, eBRCStatus: ` ${detail.eBRCStatus?.toUpperCase() ?? ''} ` }));
  await comesTo(80, 0, 0, 0);
  authority = asRead;
});

it('reports of an overdue filing whether the outcome or only certificates are missing', async () => {
  const set = (state: string, open: boolean) =>
    ledger.pool.query(
      `UPDATE filings SET state = $1, closed_at = CASE WHEN $2 THEN NULL ELSE now() END WHERE reference = 'SETTLED'`,
      [state, open],
    );
  await set('overdue', true);
  await comesTo(90, 1, 0, 1);
  expect(await findings()).toMatchObject([
    { kind: 'filing_overdue', reason: expect.stringContaining('certificates cannot be fetched yet') as string },
  ]);
  await set('certified', false);
  await comesTo(95, 0, 1, 0);
});

it('reports the certificate of a row that was cancelled before it was first read', async () => {
  const asRead = authority;
  const firstReadAs = (status: string) =>
    ledger.pool.query(`UPDATE certificates SET first_status = $1 WHERE ebrc_number = 'EB4'`, [status]);
  authority = asRead.map((detail) => (detail.eBRCNumber === 'EB4' ? { ...detail, eBRCStatus: 'CANCELLED' } : detail));
  await firstReadAs('Cancelled');
  await comesTo(100, 1, 0, 1);
  expect(await findings()).toMatchObject([
    { kind: 'status_changed', eBRCNumber: 'EB4', reason: 'the status is CANCELLED since it was first read' },
  ]);
  authority = asRead;
  await firstReadAs('Issued');
  await comesTo(105, 0, 1, 0);
});

it('finds exactly the differences there are, and nothing new the second time', async () => {
  const [, changed, doubled, cancelled] = authority;
  if (!changed || !doubled || !cancelled) throw new Error('no certificates');
  authority = [
    ...authority.slice(2, 3),
    { ...cancelled, eBRCStatus: 'Cancelled' },
    ...authority.slice(4),
    { ...changed, realisedValueFCC: '999' },
    { ...doubled, eBRCNumber: 'EBDOUBLE' },
    { ...doubled, eBRCNumber: 'EBFOREIGN', sbCumInvoiceNumber: '999' },
  ];
  await lookAtPdf('a', 'damaged');
  await readBalance(ledger, 4_000, new Date(ISSUED.getTime() + HOUR_MS));
  await comesTo(120, 7, 0, 7);
  const first = await findings();
  expect(
    first.map(({ kind, eBRCNumber, irmNumber, amount }) => [kind, eBRCNumber ?? irmNumber, amount]).sort(),
  ).toEqual([
    ['amount_differs', 'EB2', '1'],
    ['duplicate_certificate', 'EBDOUBLE', '1000'],
    ['ours_not_theirs', 'EB1', '1000'],
    ['pdf_damaged', 'EB5', '1000'],
    ['status_changed', 'EB4', '1000'],
    ['theirs_not_ours', 'EBFOREIGN', '1000'],
    ['utilisation_differs', 'IRM2026000001', '1000'],
  ]);
  for (const { advice } of first) expect(advice).not.toBe('');
  const sides = new Map(first.map(({ kind, ours, theirs }) => [kind, { ours, theirs }]));
  expect(Object.fromEntries(sides)).toMatchObject({
    ours_not_theirs: { ours: { row: 1, eBRCNumber: 'EB1' }, theirs: null },
    amount_differs: { ours: { amount: '1000' }, theirs: { amount: '999' } },
    status_changed: { ours: { eBRCStatus: 'Issued' }, theirs: { eBRCStatus: 'Cancelled' } },
    theirs_not_ours: { ours: null },
  });
  await comesTo(180, 0, 0, 7);
  expect(await findings()).toEqual(first);
});

it('keeps what it found, with its age, while an answer shows nothing at all or not this certificate', async () => {
  const before = await findings();
  const shown = authority;
  authority = [];
  await reconcile(200);
  const ids = new Set((await findings()).map(({ id }) => id));
  expect(before.filter(({ id }) => !ids.has(id))).toEqual([]);
  // Another certificate is shown, and still not the one that differs.
  authority = shown.filter(({ eBRCNumber }) => eBRCNumber !== 'EB2');
  await reconcile(210);
  const amount = (of: { kind: string }) => of.kind === 'amount_differs';
  expect((await findings()).filter(amount)).toEqual(before.filter(amount));
  authority = shown;
  await reconcile(220);
  expect(await findings()).toEqual(before);
});

it('keeps what it found in days that are not read again', async () => {
  const issued = (of: { eBRCNumber: string | null }) => of.eBRCNumber !== null;
  const before = (await findings()).filter(issued);
  expect(before.length).toBeGreaterThan(0);
  const different = authority;
  authority = rowsOf(...ROWS).map(({ mapping }, index) => detailOf(`EB${index + 1}`, mapping, ISSUED));
  await reconcile(225, { from: '2026-03-01', to: '2026-03-31' });
  expect((await findings()).filter(issued).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  authority = different;
  await reconcile(226);
});

it('closes what is gone, and keeps the rest', async () => {
  authority = rowsOf(...ROWS).map(({ mapping }, index) => detailOf(`EB${index + 1}`, mapping, ISSUED));
  await lookAtPdf('f', null);
  await comesTo(240, 0, 6, 1);
  expect((await findings()).map(({ kind }) => kind)).toEqual(['utilisation_differs']);
  await readBalance(ledger, 5_000, new Date(ISSUED.getTime() + 2 * HOUR_MS));
  await comesTo(300, 0, 1, 0);
});

it('expects neither that the authority gives the amount of a cancelled certificate back nor that it does not', async () => {
  const all = authority;
  authority = all.map((each) => (each.eBRCNumber === 'EB4' ? { ...each, eBRCStatus: 'Cancelled' } : each));
  await reconcile(301);
  expect((await findings()).map(({ kind }) => kind)).toEqual(['status_changed']);
  await readBalance(ledger, 6_000, new Date(ISSUED.getTime() + 3 * HOUR_MS));
  await reconcile(302);
  expect((await findings()).map(({ kind }) => kind)).toEqual(['status_changed']);
  authority = all;
  await readBalance(ledger, 5_000, new Date(ISSUED.getTime() + 4 * HOUR_MS));
  await reconcile(303);
  expect(await findings()).toEqual([]);
});

it('keeps the finding of a damaged PDF until it was fetched again', async () => {
  await lookAtPdf('a', 'damaged');
  await comesTo(310, 1, 0, 1);
  const [damaged] = await findings();
  await markPdfMissing(ledger.pool, partyId, 'EB5');
  await comesTo(320, 0, 0, 1);
  const reason = 'the file was not the one that was stored; it was set aside, and could not be fetched again';
  expect(await findings()).toMatchObject([
    { id: damaged?.id, kind: 'pdf_damaged', firstSeenAt: damaged?.firstSeenAt, reason },
  ]);
  const pdf = { document: 'EB5.pdf', sha256: 'b'.repeat(64), bytes: 1_000, at: NOW };
  await markArchived(ledger.pool, { exporterId: EXPORTER, eBRCNumber: 'EB5', ...pdf });
  await comesTo(330, 0, 1, 0);
});

it('shows a certificate of a row that was abandoned after it was sent, until the row has its outcome', async () => {
  const documents = ['777', '778', '779'];
  const rows = documents.map((document) => rowsOf({ sbCumInvoiceNumber: document, mappedIRMAmountFCC: 10 }));
  const filings: string[] = [];
  for (const row of rows) filings.push(await open(ledger, `ABANDONED-${filings.length}`, row));
  const [certified = '', freed = '', compared = ''] = filings;
  await ledger.pool.query(`UPDATE filing_rows SET state = 'abandoned_after_send' WHERE filing_id = ANY($1)`, [filings]);
  await ledger.pool.query(`UPDATE filings SET state = 'abandoned', closed_at = now() WHERE filing_id = ANY($1)`, [
    filings,
  ]);
  const known = authority;
  const late = rows.flatMap((row, n) => row.map(({ mapping }) => detailOf(`EBLATE${n}`, mapping, ISSUED)));
  authority = [...known, ...late];
  await comesTo(340, 3, 0, 3);
  const reason = 'document, date, amount and currency are those of a row that was abandoned after it was sent';
  expect(await findings()).toMatchObject(
    filings.map((filingId, n) => ({ kind: 'theirs_not_ours', eBRCNumber: `EBLATE${n}`, filingId, reason })),
  );
  const asks = async () =>
    Promise.all(filings.map(async (filingId) => (await getFiling(ledger.pool, filingId))?.needsAttention));
  expect(await asks()).toEqual([true, true, true]);
  expect((await getFiling(ledger.pool, certified))?.attention).toBe(`EBLATE0: ${reason}.`);
  await withTransaction(ledger.pool, async (client) => {
    for (const filingId of [freed, compared]) {
      const release = { filingId, submission: 1, ground: 'absent' as const, at: NOW };
      await freeRows(client, { release, state: 'needs_correction', from: ['abandoned_after_send'] });
    }
    await detachFreed(client, freed);
  });
  expect(await asks()).toEqual([true, false, true]);
  await comesTo(345, 0, 0, 3);
  expect(await asks()).toEqual([true, false, false]);
  const certificates = [{ position: 0, eBRCNumber: 'EBLATE0', eBRCDate: null }];
  const of = { filingId: certified, submission: 1, exporterId: EXPORTER, certificates, at: NOW };
  await withTransaction(ledger.pool, (client) => certifyByPersons(client, of));
  expect(await asks()).toEqual([false, false, false]);
  expect((await findings()).map(({ eBRCNumber, filingId }) => [eBRCNumber, filingId])).toEqual([
    ['EBLATE1', null],
    ['EBLATE2', null],
  ]);
  await ledger.pool.query('DELETE FROM filing_rows WHERE filing_id = $1', [certified]);
  authority = known;
  await comesTo(350, 0, 2, 0);
});

it('shows rows that hold one mapping since two clients turned out to be one exporter, until one of them gives way', async () => {
  const other = 'exporter-without-iec';
  await saveExporter(ledger.pool, { ...customerRecord(other), iec: null }, 'test', NOW);
  const second = await open(ledger, 'SECOND', rowsOf(...ROWS.slice(0, 1)), { exporterId: other });
  await learnIec(ledger.pool, { exporterId: other, iec: 'AAGCM4521K', source: 'status', at: NOW });
  await comesTo(360, 1, 0, 1);
  const sides = { ours: { filingId: second, state: 'planned' }, theirs: { eBRCNumber: 'EB1', state: 'certified' } };
  const reason = expect.stringMatching(/holds the same mapping/u) as string;
  const found = { kind: 'duplicate_certificate', filingId: second, row: 1, amount: '1000', ...sides, reason };
  expect(await findings()).toMatchObject([found]);
  await comesTo(370, 0, 0, 1);
  await withTransaction(ledger.pool, (client) =>
    releaseUnsent(client, { filingId: second, state: 'withdrawn', at: NOW }),
  );
  await comesTo(380, 0, 1, 0);
});

it('asks as a client whose credentials are not known to be bad, and as no other', async () => {
  const iec = 'AAGCM4522K';
  for (const id of ['client-a', 'client-b', 'client-c']) await knowExporter(ledger, id, iec);
  await markBad(ledger.pool, 'client-a', 0, 'credentials_invalid');
  await ledger.pool.query(`UPDATE exporters SET api_state = ' ACTIVATION_PENDING' WHERE exporter_id = 'client-c'`);
  const asked = () => partyToReconcile(ledger.pool, 'client-a');
  expect(await asked()).toMatchObject({ callAs: 'client-b', alsoAs: [], iecCode: iec, skip: null });
  await markBad(ledger.pool, 'client-b', 0, 'credentials_invalid');
  expect((await asked())?.skip).toMatch(/no client of it is ready/u);
});

describe('an acknowledgement', () => {
  const acknowledge = (id = '') =>
    acknowledgeFinding(ledger.pool, { mode: 'test', id, by: 'ravi', note: 'known', at: NOW });
  const later = (hours: number) => new Date(ISSUED.getTime() + hours * HOUR_MS);

  it('is of the amount that was found: a difference that grows is listed again', async () => {
    await readBalance(ledger, 4_990, later(10));
    await reconcile(700);
    expect(await findings()).toMatchObject([{ kind: 'utilisation_differs', amount: '10' }]);
    await acknowledge((await findings())[0]?.id);
    await reconcile(710);
    expect(await findings()).toEqual([]);
    await readBalance(ledger, 4_000, later(11));
    await reconcile(720);
    expect(await findings()).toMatchObject([{ amount: '1000', acknowledgedAt: null, note: 'known' }]);
    await readBalance(ledger, 5_000, later(12));
    await reconcile(730);
  });

  it('of an outcome that is gathered does not silence the question whether it was filed', async () => {
    const rows = [{ sbCumInvoiceNumber: '888', mappedIRMAmountFCC: 10 }];
    const filingId = await tell(ledger, { reference: 'SILENCED', madeAt: NOW, rows });
    await reconcile(740);
    const [found] = await findings();
    expect(found).toMatchObject({ kind: 'outcome_unknown', filingId });
    await acknowledge(found?.id);
    const filing = async () => needFiling(ledger.pool, filingId);
    expect(await filing()).toMatchObject({ needsAttention: false });
    const { seq } = await filing();
    const event = { kind: 'asked', text: 'a person has been asked' };
    const ask = { filingId, state: 'outcome_unknown' as const, attention: 'Was it filed?', at: NOW, event };
    await withTransaction(ledger.pool, (client) => recordProgress(client, { ...ask, seq: seq + 1 }));
    expect(await filing()).toMatchObject({ needsAttention: true, attention: 'Was it filed?' });
    // The same question once more is the one that was acknowledged.
    await acknowledge(found?.id);
    await withTransaction(ledger.pool, (client) => recordProgress(client, { ...ask, seq: seq + 2 }));
    expect(await filing()).toMatchObject({ needsAttention: false });
  });

  it('is of a finding or a fact, and not of what a filing waits for', async () => {
    const filingId = await open(ledger, 'APPROVE-ME', rowsOf({ sbCumInvoiceNumber: '889', mappedIRMAmountFCC: 10 }));
    await move(ledger, filingId, 'awaiting_approval');
    const [question] = (await readQuestions(ledger.pool, [filingId])).get(filingId) ?? [];
    expect(await acknowledge(question?.id)).toBeNull();
    expect(await needFiling(ledger.pool, filingId)).toMatchObject({ needsAttention: true });
  });
});
