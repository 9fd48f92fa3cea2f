import { createLogger } from '../../../src/telemetry/logger';
import type { FilingStage } from './filing-stage';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

let stage: FilingStage;
const lines: string[] = [];
const logger = createLogger({ level: 'trace', destination: { write: (line: string) => void lines.push(line) } });

useFilingStage((opened) => (stage = opened), { ...QUICK_AUTHORITY, worker: { ...QUICK_AUTHORITY.worker, logger } });

it('logs nothing of what a filing says: no name, document, amount, remittance or word of the authority', async () => {
  const exporter = await stage.exporter({ irmAmount: 7_777_123 });
  const marked = {
    sbCumInvoiceNumber: '9182736',
    billNo: 'MARKED-BILL',
    irmRemitAmtFCC: 7_777_123,
    mappedIRMAmountFCC: 4_321.87,
    sbCumInvoiceValueinFCC: 4_321.87,
  };
  await fetch(`${stage.sandbox.controlUrl}/outcomes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      match: { document: marked.sbCumInvoiceNumber },
      processingStatus: 'Errored',
      errorDetails: ['ERR28: MARKED words about 9182736 of 4321.87'],
      times: 1,
    }),
  });
  stage.fault(exporter, 'push-irm', '500', { times: 1 });
  const rejected = await stage.file(exporter, [stage.mapping(exporter, marked)], { madeBy: 'Marked Maker' });
  await stage.until(rejected, 'outcome_unknown');
  await stage.settleWindowOver(rejected);
  await stage.resolve(rejected, 'not-filed', undefined, { by: 'Marked Checker', note: 'MARKED note' });
  expect(await rejected.result()).toMatchObject({ state: 'rejected' });
  const again = stage.mapping(exporter, { ...marked, billNo: 'MARKED-BILL-2' });
  expect(await (await stage.file(exporter, [again])).result()).toMatchObject({ state: 'certified' });
  const refused = stage.mapping(exporter, { ...marked, billNo: 'MARKED-BILL-3' });
  expect(await (await stage.file(exporter, [refused])).result()).toMatchObject({ state: 'refused' });

  expect(lines.length).toBeGreaterThan(1);
  const said = lines.join('');
  for (const secret of ['MARKED', 'Marked', '9182736', '4321.87', '7777123', exporter.irmNumber, exporter.username]) {
    expect([secret, lines.filter((line) => line.includes(secret))]).toEqual([secret, []]);
  }
  expect(said).toContain('filing recorded');
});
