/** Filings after ledger and documents were put back together, and an outage that shows no certificates. */
import { filingDateInKolkata } from '../../../src/domain/dates';
import { saveCertificates } from '../../../src/ledger/certificates/certificates';
import { documentsRestored } from '../../../src/ledger/sends/documents-restored';
import { HOUR_MS, type Filing, type FilingStage, type TestExporter } from './filing-stage';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

let stage: FilingStage;

useFilingStage((opened) => (stage = opened), {
  ...QUICK_AUTHORITY,
  worker: { settings: { ...QUICK_AUTHORITY.worker?.settings, settleAfterMs: HOUR_MS } },
});

/** A filing that waits after a restore, while fetch-details does not list what it listed before. */
async function filedInOutage(): Promise<{ exporter: TestExporter; filing: Filing }> {
  const exporter = await stage.exporter();
  const at = new Date(await stage.env.currentTimeMs());
  const listed = { eBRCNumber: `EB-${exporter.exporterId}`, eBRCDate: filingDateInKolkata(at.getTime()) };
  const about = { eBRCStatus: 'Issued', sbCumInvoiceNumber: '1', sbCumInvoiceDate: null, billNo: null };
  const details = [{ ...listed, ...about, realisedValueFCC: 1, currencyCode: 'USD' }];
  await documentsRestored(stage.ledger.pool, stage.worker.deps.documents, { at, by: 'ravi', waitMs: 60_000 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, ({ attention }) => attention?.includes('put back together') ?? false);
  await saveCertificates(stage.ledger.pool, { exporterId: exporter.exporterId, details, at });
  return { exporter, filing };
}

it('are sent once a look was complete, however long an outage lists less than before', async () => {
  const { exporter, filing } = await filedInOutage();
  await stage.pass(0.9);
  expect(await stage.view(filing)).toMatchObject({ state: 'submitting' });
  expect(stage.pushes(exporter)).toBe(0);
  await stage.ledger.pool.query('DELETE FROM certificates WHERE exporter_id = $1', [exporter.exporterId]);
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(stage.pushes(exporter)).toBe(1);
});

it('are a question for a person where no look was complete for a whole window', async () => {
  const { exporter, filing } = await filedInOutage();
  await stage.pass(2.5);
  await stage.until(filing, 'outcome_unknown');
  expect(stage.pushes(exporter)).toBe(0);
  expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
});
