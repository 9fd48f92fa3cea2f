import { learnIec } from '../../../src/ledger/exporters/exporters';
import { assignIec, checkFiling } from '../../../src/ledger/filings/check';
import { withTransaction } from '../../../src/ledger/pool';
import type { Finding } from '../../../src/domain/rules/finding';
import { useTestDatabase } from '../../support/postgres';
import { changed, EXPORTER, IEC, irm, knowExporter, listCertificate } from './recording';
import { locked, made, newRows, readIrms, record } from './recording';

const ledger = useTestDatabase(async (database) => {
  await knowExporter(database);
  await readIrms(database, [irm()]);
});

const brief = (findings: Finding[]) =>
  findings.map(({ severity, row, code, filingId, eBRCNumber, allowDuplicate }) =>
    [severity, row, code, filingId, eBRCNumber, allowDuplicate].filter(Boolean).join(' '),
  );
const check = async (filingId: string) => brief(await locked(ledger, filingId, checkFiling));
const assign = async (filingId: string) => brief(await locked(ledger, filingId, assignIec));

describe('a recorded filing', () => {
  it('is refused for a certificate that was read since, unless it was let in beside it', async () => {
    const rows = newRows(2, { sbCumInvoiceValueinFCC: 1_000 });
    const filingId = await made(ledger, 'LATE', rows);
    expect(await check(filingId)).toEqual([]);
    await listCertificate(ledger, 'E-LATE', rows[1]?.mapping);
    expect(await check(filingId)).toEqual(['error 2 already_certified E-LATE 2=REASON']);

    const others = newRows(1, { sbCumInvoiceValueinFCC: 1_000 });
    await listCertificate(ledger, 'E-KNOWN', others[0]?.mapping);
    const allowDuplicate = [{ row: 1, reason: 'meant' }];
    const second = await made(ledger, 'KNOWN', others, { allowDuplicate });
    expect(await check(second)).toEqual(['warning 1 already_certified E-KNOWN']);
    await listCertificate(ledger, 'E-NEW', others[0]?.mapping);
    expect(await check(second)).toEqual(['error 1 already_certified E-KNOWN 1=REASON']);
  });

  it('is not refused for what was let in beside it', async () => {
    const rows = newRows();
    const first = await made(ledger, 'FIRST', rows);
    const second = await made(ledger, 'SECOND', rows, { allowDuplicate: [{ row: 1, reason: 'meant' }] });
    expect(await check(first)).toEqual([]);
    expect(await check(second)).toEqual([`warning 1 document_overdrawn ${first}`]);
  });

  it('is refused where an IRM left the list, and warned where it is unknown or differs', async () => {
    await readIrms(ledger, [irm(), irm({ irmNumber: 'IRM-GONE' })]);
    const gone = await made(ledger, 'GONE', newRows(1, { irmNumber: 'IRM-GONE' }));
    const unknown = await made(ledger, 'NOWHERE', newRows(1, { irmNumber: 'IRM-NOWHERE', irmIfscCode: 'HDFC0000009' }));
    expect(await check(gone)).toEqual([]);
    await readIrms(ledger, [irm()]);
    expect(await check(gone)).toEqual(['error 1 irm_missing']);
    expect(await check(unknown)).toEqual(['warning 1 irm_unknown']);
    const differs = await made(ledger, 'DIFFERS', newRows(1, { irmIfscCode: 'HDFC0000009' }));
    expect(await check(differs)).toEqual(['warning 1 irm_ifsc_differs']);
  });
});

describe('a filing whose IEC was not known', () => {
  const learn = (exporterId: string, iec = IEC) =>
    withTransaction(ledger.pool, (client) => learnIec(client, { exporterId, iec, source: 'irms' }));
  const stored = async (filingId: string) =>
    ledger.select(
      `SELECT f.iec, r.iec AS of_row, r.fingerprint, r.ordinal, r.beside FROM filings f JOIN filing_rows r USING (filing_id)
        WHERE filing_id = $1 ORDER BY position`,
      filingId,
    );

  it('holds its mappings for its client alone, and for the company once it is known', async () => {
    await knowExporter(ledger, 'client-1', null);
    const rows = newRows();
    const filingId = await made(ledger, 'UNKNOWN-IEC', rows, { exporterId: 'client-1' });
    const key = rows[0]?.mapping.sbCumInvoiceNumber;
    const fingerprint = (company: string) => JSON.stringify(['test', company, 'IRM2026000001', key]);
    const before = { iec: null, of_row: null, fingerprint: fingerprint('exporter:client-1') };
    expect(await stored(filingId)).toMatchObject([before]);
    expect(await assign(filingId)).toEqual([]);
    expect(await stored(filingId)).toMatchObject([before]);
    expect(await record(ledger, 'AGAIN', rows, { exporterId: 'client-1' })).toMatchObject({ outcome: 'refused' });

    await learn('client-1');
    // Its rows count for the whole company before the filing itself has learnt it.
    expect(await record(ledger, 'TWIN', rows)).toMatchObject({ findings: [{ code: 'mapping_held', filingId }] });
    expect(await assign(filingId)).toEqual([]);
    expect(await stored(filingId)).toMatchObject([{ iec: IEC, of_row: IEC, fingerprint: fingerprint(IEC) }]);
    expect(await assign(filingId)).toEqual([]);
    expect(await record(ledger, 'TWIN', rows)).toMatchObject({ findings: [{ code: 'mapping_held', filingId }] });
  });

  it('is refused where the company holds a mapping already, and stands beside what it may', async () => {
    await knowExporter(ledger, 'client-2', null);
    const held = newRows(2, { sbCumInvoiceValueinFCC: 1_000 });
    const exporterId = 'client-2';
    const same = await made(ledger, 'SAME-AS', held.slice(0, 1), { exporterId });
    const beside = { mappedIRMAmountFCC: 200, billNo: 'OTHER' };
    const other = await made(ledger, 'BESIDE', changed(held.slice(1), beside), { exporterId });
    const holder = await made(ledger, 'COMPANY', held);
    await learn('client-2');
    expect(await assign(same)).toEqual([`error 1 mapping_held ${holder} 1=REASON`]);
    expect(await stored(same)).toMatchObject([{ iec: null, of_row: null }]);
    expect(await assign(other)).toEqual([`warning 2 mapping_beside ${holder}`]);
    expect(await stored(other)).toMatchObject([{ iec: IEC, ordinal: 1, beside: [holder] }]);
  });

  it('is not given another IEC', async () => {
    const filingId = await made(ledger, 'MOVED', newRows());
    await ledger.pool.query(`UPDATE exporters SET iec = 'AAGCM4529K' WHERE exporter_id = $1`, [EXPORTER]);
    expect(await assign(filingId)).toEqual(['error iec_differs']);
    await ledger.pool.query('UPDATE exporters SET iec = $2 WHERE exporter_id = $1', [EXPORTER, IEC]);
  });
});
