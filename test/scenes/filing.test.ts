import { readFile } from 'node:fs/promises';
import { useFilingStage } from './use-stage';

const stage = useFilingStage();

describe('a filing', () => {
  it('lives through the two hours and ends with its certificates archived', async () => {
    const exporter = await stage.exporter();
    const rows = [
      stage.mapping(exporter),
      stage.mapping(exporter, { mappedIRMAmountFCC: 2_000, sbCumInvoiceValueinFCC: 2_000 }),
    ];
    const filing = await stage.file(exporter, rows);
    const result = await filing.result();
    expect(result).toMatchObject({
      state: 'certified',
      counts: { rows: 2, certified: 2, archived: 2, open: 0 },
      attention: null,
    });
    expect(result.requestId).toBeTruthy();
    for (const row of result.rows) {
      expect(row.eBRCNumber).toBeTruthy();
      const pdf = await readFile(stage.worker.deps.documents.pathOf(row.pdf ?? ''));
      expect(pdf.subarray(0, 5).toString('latin1')).toBe('%PDF-');
    }
    expect(stage.pushes(exporter)).toBe(1);
    expect(await stage.verdicts(result.filingId)).toEqual(['accepted']);
  });

  it('that the service refuses frees its rows, says why, and can be corrected under the next number', async () => {
    const exporter = await stage.exporter();
    const body = { statusCode: 400, message: 'Validation failed', errors: ['ebrcBulkGenDtos.0.portCode: wrong'] };
    stage.service.script({ operation: 'push-irm', about: exporter.exporterId, answer: { status: 400, body } });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const refused = await filing.result();
    expect(refused).toMatchObject({ state: 'needs_correction', counts: { errored: 1, open: 0 } });
    expect(refused.errors[0]).toMatchObject({ row: 1, field: 'portCode' });
    expect(await stage.verdicts(refused.filingId)).toEqual(['refused']);
    const again = await stage.file(exporter, [stage.mapping(exporter)], {
      reference: refused.reference,
      n: 2,
      corrects: refused.filingId ?? '',
    });
    expect(await again.result()).toMatchObject({ state: 'certified', n: 2 });
  });

  it('by workbook is sent although an earlier try stored its workbook and could not begin', async () => {
    const exporter = await stage.exporter();
    const rows = [stage.mapping(exporter)];
    const filing = await stage.file(exporter, rows, { channel: 'bulk', approval: true });
    const { filingId } = await stage.until(filing, 'awaiting_approval');
    const { documents, workbooks } = stage.worker.deps;
    // The same rows: another time in the workbook makes other bytes.
    const buffer = await workbooks.write(rows.map((mapping, nth) => ({ row: nth + 2, mapping })));
    const stored = await documents.put({ name: `${filingId}-1`, kind: 'xlsx', buffer });
    for (const by of ['ravi', 'meera']) await stage.decide(filing, 'approve', { by });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    const { rows: sent } = await stage.ledger.pool.query(
      'SELECT document, payload_hash FROM attempts WHERE filing_id = $1',
      [filingId],
    );
    expect(sent).toEqual([{ document: stored.name, payload_hash: stored.sha256 }]);
  });

  it('with a row that the authority rejects is certified in part', async () => {
    const exporter = await stage.exporter();
    const [good, bad] = [stage.mapping(exporter), stage.mapping(exporter)];
    await stage.reject(bad.sbCumInvoiceNumber);
    const result = await (await stage.file(exporter, [good, bad])).result();
    expect(result).toMatchObject({ state: 'partly_certified', counts: { certified: 1, errored: 1 } });
    expect(result.attention).toContain('ebrc correct');
    expect(result.rows[1]).toMatchObject({ state: 'rejected', errors: ['ERR28: date'] });
  });

  it('that is repeated answers with what stands, and other content under its reference is refused', async () => {
    const exporter = await stage.exporter();
    const rows = [stage.mapping(exporter)];
    const first = await (await stage.file(exporter, rows, { reference: 'REPEATED' })).result();
    const second = await (await stage.file(exporter, rows, { reference: 'REPEATED' })).result();
    expect(second).toMatchObject({ filingId: first.filingId, state: 'certified' });
    const other = await (await stage.file(exporter, [stage.mapping(exporter)], { reference: 'REPEATED' })).result();
    expect(other).toMatchObject({
      filingId: null,
      state: 'refused',
      recorded: { filingId: first.filingId, state: 'certified' },
    });
    expect(other.errors[0]).toMatchObject({ code: 'reference_taken' });
    expect(stage.pushes(exporter)).toBe(1);
  });
});

describe('an answer that does not come', () => {
  it('after the service took the filing in: a reading adopts its certificate', async () => {
    const { filing, exporter } = await stage.start([['push-irm', 'accept-then-drop']]);
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', requestId: null });
    expect(stage.pushes(exporter)).toBe(1);
    expect(await stage.verdicts(result.filingId)).toEqual(['accepted']);
  });

  it('before the service took it in: somebody is asked once the settle time is over, and it is sent again', async () => {
    const { filing, exporter } = await stage.start([['push-irm', 'drop-before-accept']]);
    const unknown = await stage.until(filing, ({ state, asked }) => state === 'outcome_unknown' && !asked);
    expect(unknown.attention).toBeNull();
    await stage.pass(5);
    const asked = await stage.until(filing, ({ asked }) => asked);
    expect(asked.attention).toContain('ebrc resolve');
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('with words of a duplicate refuses nothing', async () => {
    const exporter = await stage.exporter();
    const body = { statusCode: 400, message: 'Duplicate: this mapping already exists' };
    stage.service.script({ operation: 'push-irm', about: exporter.exporterId, answer: { status: 400, body } });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const unknown = await stage.until(filing, 'outcome_unknown');
    expect(await stage.verdicts(unknown.filingId)).toEqual(['unknown']);
  });

  it('because of the rate limit is not sent, and is sent later', async () => {
    const { filing, exporter } = await stage.start([['push-irm', 'status-429']]);
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified' });
    expect(await stage.verdicts(result.filingId)).toEqual(['not_sent', 'accepted']);
    expect(stage.pushes(exporter)).toBe(2);
  });
});
