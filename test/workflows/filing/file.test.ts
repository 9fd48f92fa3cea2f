import { readFile } from 'node:fs/promises';
import { saveCertificates } from '../../../src/ledger/certificates/certificates';
import { detailOf } from '../../reports/ledger-of-a-month';
import type { RowView } from '../../../src/domain/filing/view';
import { operationsOf, useFilingStage } from './use-filing-stage';

// Here every workflow task replays its history, so that a step that is not deterministic fails; recorded histories
// cover the rest.
const stage = useFilingStage({ worker: { replayEveryTask: true } });

describe('a filing', () => {
  it('lives through the two hours and ends with its certificates archived', async () => {
    const exporter = await stage.exporter();
    const rows = [
      stage.mapping(exporter),
      stage.mapping(exporter, { mappedIRMAmountFCC: 2_000, sbCumInvoiceValueinFCC: 2_000 }),
    ];
    const filing = await stage.file(exporter, rows);
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', counts: { rows: 2, certified: 2, archived: 2, open: 0 } });
    expect(result.requestId).toBeTruthy();
    const view = await stage.view(result);
    // What callers without the ledger came for is in the result.
    const inResult = ({ row, serialNo, irmNumber, sbCumInvoiceNumber, state, eBRCNumber, ...rest }: RowView) => {
      const { document, sha256, errors } = rest;
      return { row, serialNo, irmNumber, sbCumInvoiceNumber, state, eBRCNumber, document, sha256, errors };
    };
    expect(result).toMatchObject({ rows: view.rows.map(inResult), moreRows: null, attempt: null });
    for (const row of view.rows) {
      expect(row.eBRCNumber).toBeTruthy();
      const pdf = await readFile(stage.worker.deps.documents.pathOf(row.document ?? ''));
      expect(pdf.subarray(0, 5).toString('latin1')).toBe('%PDF-');
    }
    expect(stage.sandbox.doubleFilings()).toEqual([]);
    const { rows: details } = await stage.ledger.pool.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM certificates WHERE filing_id = $1 AND detail IS NOT NULL',
      [result.filingId],
    );
    expect(details[0]?.n).toBe(2);
  });

  it.each(['stale', 'fresh'])('is warned, with %s balances, of a certificate that no filing has', async (balances) => {
    const exporter = await stage.exporter();
    const { exporterId } = exporter;
    await (await stage.file(exporter, [stage.mapping(exporter)])).result();
    if (balances === 'fresh') await operationsOf(stage).refreshIrms(exporterId);
    const mapping = stage.mapping(exporter);
    const at = new Date(await stage.env.currentTimeMs());
    const details = [detailOf(`EB-BY-HAND-${balances}`, mapping, at)];
    await saveCertificates(stage.ledger.pool, { exporterId, details, at });
    const result = await (await stage.file(exporter, [mapping])).result();
    const warned = expect.objectContaining({ code: 'certified_elsewhere', row: 1 }) as unknown;
    expect((await stage.view(result)).warnings).toContainEqual(warned);
  });

  it.each([
    [undefined, 'source: is missing; allowed: {path}, {name, bytes}, {message}'],
    [{ name: 'july.xlsx' }, 'source: is of no known form; allowed: {path}, {name, bytes}, {message}'],
    [{ bytes: Buffer.alloc(0) }, 'source: is of no known form; allowed: {path}, {name, bytes}, {message}'],
  ])('without a source is refused like every wrong input: %j', async (source, message) => {
    const client = operationsOf(stage);
    const terms = { source: source as never, exporter: 'a@b.example', madeBy: 'erp', declaration: 'Y' as const };
    const refused = { name: 'RefusedError', errors: [{ code: 'invalid_input', field: 'source', message }] };
    await expect(client.file(terms)).rejects.toMatchObject(refused);
    await expect(client.check(terms)).rejects.toMatchObject(refused);
  });

  it('is not gone on with by another workflow', async () => {
    const { exporter, filing: first } = await stage.start();
    const { filingId } = await first.result();
    const other = await stage.file(exporter, [], { message: undefined, resume: filingId ?? '' });
    const message = expect.stringContaining(first.workflowId) as string;
    expect(await other.result()).toMatchObject({
      filingId: null,
      state: 'refused',
      errors: [{ code: 'resume_differs', filingId, message }],
    });
  });
});

it('outlives its worker: a push that is on its way ends before the worker shuts down', async () => {
  const { exporter, filing } = await stage.start([['push-irm', 'slow', { delayMs: 1_000 }]]);
  await stage.until(filing, () => stage.pushes(exporter) === 1);
  await stage.worker.stop();
  await stage.worker.start();
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', requestId: (await stage.requestsOf(exporter))[0] });
  expect(await stage.verdicts(result.filingId)).toEqual(['accepted']);
});
