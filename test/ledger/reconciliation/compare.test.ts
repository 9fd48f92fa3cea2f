/** A settled ledger has no findings; one with differences has exactly those, once. */
import { RECONCILE_CHECKS } from '../../../src/domain/reconciliation/findings';
import { saveCertificates, type CertificateDetailRecord } from '../../../src/ledger/certificates/certificates';
import { markArchived, markPdfMissing, savePdfChecks } from '../../../src/ledger/certificates/pdfs';
import { acknowledgeFinding, listFindings } from '../../../src/ledger/findings';
import { readClock } from '../../../src/ledger/readings';
import { compareCompany } from '../../../src/ledger/reconciliation/compare';
import { companyToReconcile } from '../../../src/ledger/reconciliation/runs';
import { markBad } from '../../../src/ledger/vault/credentials';
import { useTestDatabase } from '../../support/postgres';
import { detailOf, EXPORTER, HOUR_MS, IEC, knowExporter, NOW, readBalance, rowsOf, tell } from '../filed';

const ledger = useTestDatabase();
const company = { mode: 'test', iec: IEC, exporterId: EXPORTER } as const;
/** The certificates that the authority has; each reading shows them as they are then. */
let authority: CertificateDetailRecord[];

const ROWS = [1, 2, 3, 4, 5].map((n) => ({ sbCumInvoiceNumber: String(600 + n), mappedIRMAmountFCC: 1_000 }));
const ISSUED = new Date(NOW.getTime() + HOUR_MS);

/** The authority lists what it has, and the ledger is compared with it. */
async function reconcile({ from = '2026-01-01', to = '2026-03-31', whole = true } = {}) {
  const readAt = await readClock(ledger.pool);
  await saveCertificates(ledger.pool, { ...company, details: authority, askedAt: readAt });
  const windows = [{ from, to, readAt: readAt.getTime(), whole }];
  return compareCompany(ledger.pool, { ...company, checks: RECONCILE_CHECKS, windows, overdueAfterMs: 4 * HOUR_MS });
}
const EB5 = { ...company, eBRCNumber: 'EB5' };
const lookAtPdf = (digit: string, problem: 'damaged' | null) =>
  savePdfChecks(ledger.pool, { ...company, checks: [{ eBRCNumber: 'EB5', found: digit.repeat(64), problem }] });
/** A reconciliation opens and closes so many findings, and leaves so many open. */
const comesTo = async (opened: number, closed: number, open: number) =>
  expect(await reconcile()).toEqual({ opened, closed, open });
const findings = async () =>
  (await listFindings(ledger.pool, { mode: 'test' })).map(({ lastSeenAt: _, ageDays: __, ...rest }) => rest);

beforeAll(async () => {
  await knowExporter(ledger);
  const rows = ROWS.map((row, index) => ({ ...row, becomes: { certificate: `EB${index + 1}` } }));
  await tell(ledger, { reference: 'SETTLED', madeAt: NOW, hours: 1, rows });
  await readBalance(ledger, 5_000, ISSUED);
  authority = rowsOf(...ROWS).map(({ mapping }, index) => detailOf(`EB${index + 1}`, mapping, ISSUED));
});

it('finds nothing in a settled ledger', () => comesTo(0, 0, 0));

it('keeps what a later call has shown where the answer of an earlier one comes after it', async () => {
  const shown = async (status: string, askedAt: Date) => {
    const details = authority.map((detail) => ({ ...detail, eBRCNumber: 'EB-LATE', eBRCStatus: status }));
    await saveCertificates(ledger.pool, { ...company, details: details.slice(0, 1), askedAt });
  };
  await shown('Issued', NOW);
  await shown('Cancelled', ISSUED);
  await shown('Issued', new Date(ISSUED.getTime() - 1));
  const changes = `SELECT count(*)::int FROM certificate_changes WHERE ebrc_number = 'EB-LATE'`;
  const known = `SELECT status, (${changes}) AS changes FROM certificates WHERE ebrc_number = 'EB-LATE'`;
  expect(await ledger.select(known)).toEqual([{ status: 'Cancelled', changes: 1 }]);
  await ledger.pool.query(`DELETE FROM certificates WHERE ebrc_number = 'EB-LATE'`);
});

it('compares what a reading showed that was not whole, and takes what it did not show for nothing', async () => {
  const asRead = authority;
  const [first, second, ...rest] = asRead;
  // One vanished, another was cancelled.
  authority = [{ ...second!, eBRCStatus: 'Cancelled' }, ...rest];
  expect(first?.eBRCNumber).toBe('EB1');
  expect(await reconcile({ whole: false })).toEqual({ opened: 1, closed: 0, open: 1 });
  expect((await findings()).map(({ kind, eBRCNumber }) => [kind, eBRCNumber])).toEqual([['status_changed', 'EB2']]);
  authority = asRead;
  expect(await reconcile({ whole: false })).toEqual({ opened: 0, closed: 0, open: 1 });
  await comesTo(0, 1, 0);
});

it('reports a document of which more is certified than it is worth, whoever filed it', async () => {
  const asRead = authority;
  const [first] = asRead;
  const worth = (value: number) =>
    ledger.pool.query(
      `UPDATE filing_rows SET mapping = jsonb_set(mapping, '{sbCumInvoiceValueinFCC}', $1) WHERE mapping->>'sbCumInvoiceNumber' = '601'`,
      [String(value)],
    );
  const [row] = await ledger.select(
    `SELECT mapping->'sbCumInvoiceValueinFCC' AS value FROM filing_rows WHERE mapping->>'sbCumInvoiceNumber' = '601'`,
  );
  const overdrawn = async () =>
    (await findings())
      .filter(({ kind }) => kind === 'document_overdrawn')
      .map(({ amount, reason }) => [amount, reason]);
  await worth(900);
  await comesTo(1, 0, 1);
  expect(await overdrawn()).toEqual([['100', 'document 601 is worth 900, 1000 is certified and held for it']]);
  authority = asRead.map((detail) => (detail === first ? { ...detail, eBRCStatus: 'Cancelled' } : detail));
  await reconcile();
  expect(await overdrawn()).toEqual([]);
  authority = asRead;
  // Another one of the mapping is a finding of its own; one of another amount takes of the document too.
  await worth(1200);
  authority = [...asRead, { ...first!, eBRCNumber: 'EB-TWICE' }];
  await reconcile();
  expect(await overdrawn()).toEqual([]);
  await ledger.pool.query(`DELETE FROM certificates WHERE ebrc_number = 'EB-TWICE'`);
  authority = [...asRead, { ...first!, eBRCNumber: 'EB-MORE', realisedValueFCC: 300 }];
  await reconcile();
  expect(await overdrawn()).toEqual([['100', 'document 601 is worth 1200, 1300 is certified and held for it']]);
  authority = asRead;
  await worth(Number(row?.['value']));
  await ledger.pool.query(`DELETE FROM certificates WHERE ebrc_number = 'EB-MORE'`);
  await reconcile();
  expect(await findings()).toEqual([]);
});

it('takes another spelling of a status for the same status', async () => {
  const asRead = authority;
  authority = asRead.map((detail) => ({ ...detail, eBRCStatus: ` ${detail.eBRCStatus?.toUpperCase() ?? ''} ` }));
  await comesTo(0, 0, 0);
  authority = asRead;
});

it('reports a filing that is overdue, and one whose outcome is unknown', async () => {
  const set = (state: string, open: boolean) =>
    ledger.pool.query(
      `UPDATE filings SET state = $1, closed_at = CASE WHEN $2 THEN NULL ELSE now() END WHERE reference = 'SETTLED'`,
      [state, open],
    );
  await set('overdue', true);
  await comesTo(1, 0, 1);
  expect(await findings()).toMatchObject([{ kind: 'filing_overdue', reason: 'no outcome since 2026-02-10 11:30 IST' }]);
  await set('outcome_unknown', true);
  await comesTo(1, 1, 1);
  // Nobody is asked before the settle time is over.
  expect(await findings()).toMatchObject([
    { kind: 'outcome_unknown', advice: expect.stringContaining('nothing has to be done yet') as string },
  ]);
  await set('certified', false);
  await comesTo(0, 1, 0);
});

it('reports the certificate of a row that was cancelled before it was first read', async () => {
  const asRead = authority;
  const firstReadAs = (status: string) =>
    ledger.pool.query(`UPDATE certificates SET first_status = $1 WHERE ebrc_number = 'EB4'`, [status]);
  authority = asRead.map((detail) => (detail.eBRCNumber === 'EB4' ? { ...detail, eBRCStatus: 'CANCELLED' } : detail));
  await firstReadAs('Cancelled');
  await comesTo(1, 0, 1);
  expect(await findings()).toMatchObject([
    { kind: 'status_changed', eBRCNumber: 'EB4', reason: 'the status is CANCELLED since it was first read' },
  ]);
  authority = asRead;
  await firstReadAs('Issued');
  await comesTo(0, 1, 0);
});

it('takes a certificate in the currency of its document for the row’s, and two decimals for three', async () => {
  const asRead = authority;
  const told = (more: object) => asRead.map((each) => (each.eBRCNumber === 'EB2' ? { ...each, ...more } : each));
  const mapped = (more: object, amount: string, currency: string) =>
    ledger.pool.query(
      `UPDATE filing_rows SET mapping = mapping || $1, amount = $2, currency = $3 WHERE ebrc_number = 'EB2'`,
      [JSON.stringify(more), amount, currency],
    );
  authority = told({ currencyCode: 'EUR', realisedValueFCC: '900' });
  await comesTo(1, 0, 1);
  await mapped({ sbCumInvoiceFCC: 'EUR' }, '1000', 'USD');
  await comesTo(0, 1, 0);
  authority = told({ currencyCode: 'KWD', realisedValueFCC: '1000.56' });
  await mapped({ sbCumInvoiceFCC: 'KWD' }, '1000.567', 'KWD');
  await comesTo(0, 0, 0);
  await mapped({ sbCumInvoiceFCC: 'USD' }, '1000', 'USD');
  authority = asRead;
  await comesTo(0, 0, 0);
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
  await comesTo(7, 0, 7);
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
  await comesTo(0, 0, 7);
  expect(await findings()).toEqual(first);
});

it('keeps what it found, with its age, while an answer shows nothing at all or not this certificate', async () => {
  const before = await findings();
  const shown = authority;
  authority = [];
  await reconcile();
  const ids = new Set((await findings()).map(({ id }) => id));
  expect(before.filter(({ id }) => !ids.has(id))).toEqual([]);
  // Another certificate is shown, and still not the one that differs.
  authority = shown.filter(({ eBRCNumber }) => eBRCNumber !== 'EB2');
  await reconcile();
  const amount = (of: { kind: string }) => of.kind === 'amount_differs';
  expect((await findings()).filter(amount)).toEqual(before.filter(amount));
  authority = shown;
  await reconcile();
  expect(await findings()).toEqual(before);
});

it('keeps what it found in days that are not read again', async () => {
  const issued = (of: { eBRCNumber: string | null }) => of.eBRCNumber !== null;
  const before = (await findings()).filter(issued);
  expect(before.length).toBeGreaterThan(0);
  const different = authority;
  authority = rowsOf(...ROWS).map(({ mapping }, index) => detailOf(`EB${index + 1}`, mapping, ISSUED));
  await reconcile({ from: '2026-03-01', to: '2026-03-31' });
  expect((await findings()).filter(issued).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  authority = different;
  await reconcile();
});

it('closes what is gone, and keeps the rest', async () => {
  // What was listed once and is not any more would be a finding until somebody acknowledges it.
  await ledger.pool.query(`DELETE FROM certificates WHERE ebrc_number IN ('EBDOUBLE', 'EBFOREIGN')`);
  authority = rowsOf(...ROWS).map(({ mapping }, index) => detailOf(`EB${index + 1}`, mapping, ISSUED));
  await lookAtPdf('f', null);
  await comesTo(0, 6, 1);
  expect((await findings()).map(({ kind }) => kind)).toEqual(['utilisation_differs']);
  await readBalance(ledger, 5_000, new Date(ISSUED.getTime() + 2 * HOUR_MS));
  await comesTo(0, 1, 0);
});

it('expects neither that the authority gives the amount of a cancelled certificate back nor that it does not', async () => {
  const all = authority;
  authority = all.map((each) => (each.eBRCNumber === 'EB4' ? { ...each, eBRCStatus: 'Cancelled' } : each));
  await reconcile();
  expect((await findings()).map(({ kind }) => kind)).toEqual(['status_changed']);
  await readBalance(ledger, 6_000, new Date(ISSUED.getTime() + 3 * HOUR_MS));
  await reconcile();
  expect((await findings()).map(({ kind }) => kind)).toEqual(['status_changed']);
  authority = all;
  await readBalance(ledger, 5_000, new Date(ISSUED.getTime() + 4 * HOUR_MS));
  await reconcile();
  expect(await findings()).toEqual([]);
});

it('keeps the finding of a damaged PDF until it was fetched again', async () => {
  await lookAtPdf('a', 'damaged');
  await comesTo(1, 0, 1);
  const [damaged] = await findings();
  await markPdfMissing(ledger.pool, EB5);
  await comesTo(0, 0, 1);
  const reason = 'the file was not the one that was stored; it was set aside, and could not be fetched again';
  expect(await findings()).toMatchObject([
    { id: damaged?.id, kind: 'pdf_damaged', firstSeenAt: damaged?.firstSeenAt, reason },
  ]);
  await markArchived(ledger.pool, EB5, { document: 'EB5.pdf', sha256: 'b'.repeat(64), bytes: 1_000 });
  await comesTo(0, 1, 0);
});

it('names the row that was sent and freed whose certificate comes after all, and no row that is sent', async () => {
  const sent = { sbCumInvoiceNumber: '777', mappedIRMAmountFCC: 10 };
  const filingId = await tell(ledger, { reference: 'FREED', madeAt: NOW, rows: [sent] });
  const known = authority;
  authority = [...known, ...rowsOf(sent).map(({ mapping }) => detailOf('EBLATE', mapping, ISSUED))];
  const about = (await reconcile(), await findings()).filter(({ eBRCNumber }) => eBRCNumber === 'EBLATE');
  expect(about).toEqual([]);
  await ledger.pool.query(`UPDATE filing_rows SET state = 'released', freed_at = now() WHERE filing_id = $1`, [
    filingId,
  ]);
  await ledger.pool.query(`UPDATE filings SET state = 'needs_correction', closed_at = now() WHERE filing_id = $1`, [
    filingId,
  ]);
  await reconcile();
  const reason = 'document, date, amount and currency are those of a row that was sent and freed';
  expect(await findings()).toMatchObject([{ kind: 'theirs_not_ours', eBRCNumber: 'EBLATE', filingId, reason }]);
  await ledger.pool.query('DELETE FROM certificates WHERE ebrc_number = $1', ['EBLATE']);
  authority = known;
  await comesTo(0, 1, 0);
});

it('asks as a client whose credentials are not known to be bad, and as no other', async () => {
  const iec = 'AAGCM4522K';
  for (const id of ['client-a', 'client-b', 'client-c']) await knowExporter(ledger, id, iec);
  await markBad(ledger.pool, 'client-a', 0, 'credentials_invalid');
  await ledger.pool.query(`UPDATE exporters SET api_state = ' ACTIVATION_PENDING' WHERE exporter_id = 'client-c'`);
  const asked = () => companyToReconcile(ledger.pool, 'client-a');
  expect(await asked()).toEqual({ exporterId: 'client-b', iec, key: iec, skip: null });
  await markBad(ledger.pool, 'client-b', 0, 'credentials_invalid');
  expect((await asked())?.skip).toMatch(/no client of it is ready/u);
});

describe('an acknowledgement', () => {
  const acknowledge = (id = '') => acknowledgeFinding(ledger.pool, { mode: 'test', id, by: 'ravi', note: 'known' });
  const later = (hours: number) => new Date(ISSUED.getTime() + hours * HOUR_MS);

  it('is of the amount that was found: a difference that grows is listed again', async () => {
    await readBalance(ledger, 4_990, later(10));
    await reconcile();
    expect(await findings()).toMatchObject([{ kind: 'utilisation_differs', amount: '10' }]);
    await acknowledge((await findings())[0]?.id);
    await reconcile();
    expect(await findings()).toEqual([]);
    await readBalance(ledger, 4_000, later(11));
    await reconcile();
    expect(await findings()).toMatchObject([{ amount: '1000', acknowledgedAt: null, note: 'known' }]);
    await readBalance(ledger, 5_000, later(12));
    await comesTo(0, 1, 0);
  });

  it('is not to be had for a ledger that went back', async () => {
    const { rows } = await ledger.pool.query<{ id: string }>(
      `INSERT INTO findings (mode, key, kind, first_seen_at, last_seen_at) VALUES ('test', 'k', 'ledger_went_back', now(), now())
       RETURNING finding_id AS id`,
    );
    expect(await acknowledge(rows[0]?.id)).toBeNull();
  });
});
