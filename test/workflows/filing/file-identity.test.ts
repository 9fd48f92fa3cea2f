import { TEST_CADENCE } from '../../support/settings';
import { randomUUID } from 'node:crypto';
import { detailOf } from '../../reports/ledger-of-a-month';
import type { Customer } from '../../../src/api/schemas/exporters';
import { saveCertificates } from '../../../src/ledger/certificates/certificates';
import { documentsRestored } from '../../../src/ledger/sends/documents-restored';
import { checkFile } from '../../../src/starter/filings/check';
import { createEbrcReader } from '../../../src/starter/reader';
import { HOUR_MS, type Filing, type TestExporter } from './filing-stage';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

/** What the service answers for a client, where it is not what the sandbox has. */
const answers = new Map<string, (customer: Customer) => Customer>();

const stage = useFilingStage({
  ...QUICK_AUTHORITY,
  worker: {
    settings: { ...QUICK_AUTHORITY.worker?.settings, settleAfterMs: HOUR_MS },
    adjust: (deps) => ({
      ...deps,
      api: {
        ...deps.api,
        // A service that keeps UUIDs as such finds them in either case.
        getCustomer: async (id, context) => {
          const customer = await deps.api.getCustomer(id.toLowerCase(), context);
          return answers.get(customer.id)?.(customer) ?? customer;
        },
      },
    }),
  },
});

it('files for an id in capitals as the service spells it', async () => {
  const exporter = await stage.exporter();
  const capitals = { ...exporter, exporterId: exporter.exporterId.toUpperCase() };
  const filing = await stage.file(capitals, [stage.mapping(exporter)]);
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(await stage.view(filing)).toMatchObject({ exporterId: exporter.exporterId });
  const [push] = stage.sandbox.calls({ operation: 'push-irm' });
  expect(JSON.stringify(push)).not.toContain(capitals.exporterId);
});

it('refuses a filing for a client whose id the service answers otherwise, after two looks', async () => {
  const exporter = await stage.exporter();
  answers.set(exporter.exporterId, (customer) => ({ ...customer, id: randomUUID() }));
  const before = stage.sandbox.calls({ operation: 'get-customer' }).length;
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  expect(await filing.result()).toMatchObject({ filingId: null, errors: [{ code: 'exporter_unknown' }] });
  expect(stage.sandbox.calls({ operation: 'get-customer' })).toHaveLength(before + 2);
});

/** What `ebrc check` says of a row of the exporter. */
function checked(exporter: TestExporter) {
  const items = [stage.mapping(exporter)];
  const message = { recordResCount: 1, uploadType: '101', decalarationFlag: 'Y', ebrcBulkGenDtos: items };
  const { pool } = stage.ledger;
  return checkFile({ pool, mode: 'test' }, { source: { message }, exporter: exporter.exporterId });
}

it('files under the IEC that the portal shows, and says that another one was entered', async () => {
  const exporter = await stage.exporter();
  const iec = { entered: 'WRONGIEC01', shown: '' };
  answers.set(exporter.exporterId, (customer) => {
    iec.shown = customer.iec ?? '';
    return { ...customer, iec: iec.entered };
  });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  const warning = {
    code: 'iec_differs',
    field: 'iec',
    message: expect.stringMatching(`IEC ${iec.entered}, but its IRMs carry ${iec.shown}`) as string,
  };
  expect((await stage.view(filing)).warnings).toMatchObject([warning]);
  const asked = stage.sandbox.calls({ operation: 'fetch-details' });
  expect(asked.filter(({ platformCustomerId }) => platformCustomerId === exporter.exporterId)).not.toHaveLength(0);
  expect(asked.map(({ status }) => status)).not.toContain(400);
  const { pool } = stage.ledger;
  const { rows } = await pool.query(
    'SELECT p.iec FROM exporters e JOIN parties p USING (party_id) WHERE exporter_id = $1',
    [exporter.exporterId],
  );
  expect(rows).toEqual([{ iec: iec.shown }]);

  // What the commands print: `ebrc exporter`, and `ebrc check` before the next filing.
  const reader = createEbrcReader({
    ...{ pool, mode: 'test', cadence: TEST_CADENCE },
    documents: { pathOf: (name) => name },
  });
  expect(await reader.exporter(exporter.exporterId)).toMatchObject({ iec: iec.shown, warnings: [warning] });
  expect(await checked(exporter)).toMatchObject({ ok: true, warnings: [warning] });
});

it('records nothing where it was started with the update file and never sees it; its caller repeats', async () => {
  const exporter = await stage.exporter();
  const rows = [stage.mapping(exporter)];
  const input = { reference: 'NEVER-ASKED', awaitUpdate: true };
  const lost = await (await stage.file(exporter, rows, input)).result();
  expect(lost).toMatchObject({
    filingId: null,
    state: 'refused',
    recorded: null,
    errors: [{ code: 'update_missing' }],
  });
  expect(stage.pushes(exporter)).toBe(0);
  const filed = await (await stage.file(exporter, rows, { reference: 'NEVER-ASKED' })).result();
  expect(filed).toMatchObject({ state: 'certified' });
  // What is recorded stays what it is, however its workflow is started.
  const { filingId } = filed;
  expect(await (await stage.file(exporter, rows, input)).result()).toMatchObject({ filingId, state: 'certified' });
  expect(stage.pushes(exporter)).toBe(1);
});

/** A filing that waits after a restore, while fetch-details does not list what it listed before. */
async function filedInOutage(): Promise<{ exporter: TestExporter; filing: Filing }> {
  const exporter = await stage.exporter();
  const at = new Date(await stage.env.currentTimeMs());
  const details = [detailOf(`EB-${exporter.exporterId}`, stage.mapping(exporter), at)];
  await documentsRestored(stage.ledger.pool, stage.worker.deps.documents, { at, by: 'ravi', waitMs: 60_000 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, ({ attention }) => attention?.includes('put back together') ?? false);
  await saveCertificates(stage.ledger.pool, { exporterId: exporter.exporterId, details, at });
  return { exporter, filing };
}

// Last: from here on every filing waits.
describe('filings after ledger and documents were put back together', () => {
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
});
