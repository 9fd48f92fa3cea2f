/** The same mapping again: certified by hand before, spelled in another way, or meant. */
import { filingDateInKolkata } from '../../src/domain/dates';
import type { FilingResult } from '../../src/domain/contracts';
import type { Mapping } from '../../src/domain/filing/mapping';
import { certifyByHand, rowStates, soon } from './acts';
import { HOUR_MS, type TestExporter } from './stage';
import { QUICK_AUTHORITY, useFilingStage } from './use-stage';

const stage = useFilingStage(QUICK_AUTHORITY);

const DAY_MS = 24 * HOUR_MS;
const daysAgo = (days: number) => filingDateInKolkata(Date.now() - days * DAY_MS);
const codesOf = ({ errors }: Pick<FilingResult, 'errors'>) => errors.map(({ code }) => code);

describe('a document that was certified by hand', () => {
  it.each([1, 35])('%i days before is not filed, whatever the row says besides', async (days) => {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter);
    const byHand = { ...row, billNo: 'BY HAND', sbCumInvoiceDate: daysAgo(days) };
    const number = await certifyByHand(stage, exporter, byHand, { daysAgo: days });
    const result = await (await stage.file(exporter, [row])).result();
    expect(result).toMatchObject({ state: 'needs_correction' });
    expect(result.errors[0]).toMatchObject({ code: 'already_certified', eBRCNumber: number });
    expect(stage.pushes(exporter)).toBe(0);
  });

  it('while its filing waited for an approval is not sent before two persons have seen it', async () => {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter);
    const filing = await stage.file(exporter, [row], { approval: true });
    const { filingId } = await stage.until(filing, 'awaiting_approval');
    const number = await certifyByHand(stage, exporter, row);
    // What was read before it is too old by then.
    await stage.pass(1.1);
    for (const by of ['ravi', 'meera']) await stage.decide(filing, 'approve', { by });
    const stopped = await stage.until(filing, ({ attention }) => attention?.includes(number) ?? false);
    expect(stopped).toMatchObject({ state: 'awaiting_approval', asked: true });
    expect(stage.pushes(exporter)).toBe(0);
    expect(await stage.decide(filing, 'approve', { by: 'ravi' })).toMatchObject({ outcome: 'recorded' });
    await stage.untilAsleep(filing);
    expect(await stage.verdicts(filingId)).toEqual([]);
    await stage.decide(filing, 'approve', { by: 'meera' });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
  });

  it('may be named as the row’s by two persons, and nothing is sent', async () => {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter);
    const filing = await stage.file(exporter, [row], { approval: true });
    const { filingId } = await stage.until(filing, 'awaiting_approval');
    const eBRCNumber = await certifyByHand(stage, exporter, row);
    await stage.pass(1.1);
    for (const by of ['ravi', 'meera']) await stage.decide(filing, 'approve', { by });
    await stage.until(filing, ({ attention }) => attention?.includes(eBRCNumber) ?? false);
    for (const by of ['ravi', 'meera'])
      await stage.decide(filing, 'filed', { by, certificates: [{ row: 1, eBRCNumber }] });
    expect(await filing.result()).toMatchObject({ state: 'certified', rows: [{ eBRCNumber }] });
    expect(await rowStates(stage, filingId)).toEqual(['certified by persons']);
    expect(stage.pushes(exporter)).toBe(0);
  });

  it('is filed again where two persons let it pass beside the certificate', async () => {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter, { sbCumInvoiceValueinFCC: 9_000 });
    const number = await certifyByHand(stage, exporter, row);
    const refused = await (await stage.file(exporter, [row])).result();
    expect(refused).toMatchObject({ state: 'needs_correction' });
    const allowDuplicate = [{ row: 1, besides: [number], reason: 'two shipments' }];
    const filing = await stage.file(exporter, [row], { allowDuplicate });
    const { filingId } = await stage.until(filing, 'awaiting_approval');
    await stage.decide(filing, 'approve', { by: 'ravi' });
    await stage.untilAsleep(filing);
    expect(await stage.verdicts(filingId)).toEqual([]);
    await stage.decide(filing, 'approve', { by: 'meera' });
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified' });
    expect(result.rows[0]?.eBRCNumber).not.toBe(number);
  });
});

describe('a mapping that is held', () => {
  const OTHERS: [string, (row: Mapping) => Partial<Mapping>][] = [
    ['another dash', ({ sbCumInvoiceNumber }) => ({ sbCumInvoiceNumber: sbCumInvoiceNumber.replaceAll('-', '–') })],
    ['another slash', ({ sbCumInvoiceNumber }) => ({ sbCumInvoiceNumber: sbCumInvoiceNumber.replaceAll('/', '∕') })],
    ['wide letters', ({ sbCumInvoiceNumber }) => ({ sbCumInvoiceNumber: sbCumInvoiceNumber.replaceAll('E', 'Ｅ') })],
    ['blanks and case', ({ sbCumInvoiceNumber }) => ({ sbCumInvoiceNumber: ` ${sbCumInvoiceNumber.toLowerCase()} ` })],
    [
      'the AD code and IFSC of a bank that took its own over',
      () => ({ irmAdCode: '0510001', irmIfscCode: 'HDFC0000001' }),
    ],
    ['another date', () => ({ sbCumInvoiceDate: daysAgo(3) })],
    ['another upload type', () => ({ uploadType: 103 })],
    ['another amount', () => ({ mappedIRMAmountFCC: 999 })],
    ['another bill number', () => ({ billNo: 'OTHER' })],
    [
      'its bill for its document',
      ({ billNo, sbCumInvoiceNumber }) => ({ sbCumInvoiceNumber: billNo ?? '', billNo: sbCumInvoiceNumber }),
    ],
  ];
  let exporter: TestExporter;
  let row: Mapping;
  let filingId: string | null;

  beforeAll(async () => {
    exporter = await stage.exporter();
    const irm = (await stage.account(exporter)).irms[0];
    if (irm) irm.irmNumber = '4711';
    exporter.irmNumber = '4711';
    row = stage.mapping(exporter, {
      sbCumInvoiceNumber: `EXP-${exporter.username.slice(-4)}/26`,
      ...{ sbCumInvoiceValueinFCC: 9_000, uploadType: 102 },
    });
    const holder = await stage.file(exporter, [row], { approval: true });
    ({ filingId } = await stage.until(holder, 'awaiting_approval'));
  });

  it.each(OTHERS)('is refused with %s, by the name of its holder', async (_, change) => {
    const more = change(row);
    const result = await (await stage.file(exporter, [{ ...row, ...more }])).result();
    expect(result).toMatchObject({ state: 'refused', filingId: null });
    expect(result.errors).toMatchObject([{ code: 'mapping_held', filingId, allowDuplicate: '1=REASON' }]);
  });

  it('is refused with zeros before the number of its IRM, and told how to write it', async () => {
    const result = await (await stage.file(exporter, [{ ...row, irmNumber: '0004711' }])).result();
    expect(result).toMatchObject({ state: 'refused' });
    expect(codesOf(result)).toEqual(expect.arrayContaining(['mapping_held', 'irm_number_spelling']));
  });

  it.each<[string, Partial<Mapping>]>([
    ['an amount with more decimals than its currency', { mappedIRMAmountFCC: 100.101 }],
    ['letters that only look like those of the document', { sbCumInvoiceNumber: 'ЕXP-1/26' }],
  ])('cannot be got round by %s', async (_, more) => {
    const result = await (await stage.file(exporter, [{ ...row, ...more }])).result();
    expect(result).toMatchObject({ state: 'refused', filingId: null });
  });

  it('stands beside another invoice of its shipping bill, where bill number and amount differ', async () => {
    const beside = { ...row, billNo: 'SECOND', mappedIRMAmountFCC: 500 };
    const filing = await stage.file(exporter, [beside]);
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    const { warnings } = await stage.view(filing);
    expect(warnings).toEqual(expect.arrayContaining([expect.objectContaining({ code: 'mapping_beside' })]));
  });

  it('is not let pass beside a holder whose outcome is unknown', async () => {
    const lost = await stage.lost('drop-before-accept');
    const [{ mapping } = { mapping: {} }] = await stage.ledger.select(
      'SELECT mapping FROM filing_rows WHERE filing_id = $1',
      lost.filingId,
    );
    const allowDuplicate = [{ row: 1, reason: 'I am sure' }];
    const again = await stage.file(lost.exporter, [mapping as Mapping], { allowDuplicate });
    const result = await again.result();
    expect(result).toMatchObject({ state: 'refused', errors: [{ code: 'mapping_held', filingId: lost.filingId }] });
    expect(result.errors[0]?.allowDuplicate).toBeUndefined();
  });
});

describe('a document', () => {
  it('is not mapped beyond its value, with what is certified of it elsewhere', async () => {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter, { mappedIRMAmountFCC: 500 });
    const number = await certifyByHand(stage, exporter, row, { realisedValueFCC: 600 });
    const result = await (await stage.file(exporter, [row])).result();
    expect(result).toMatchObject({ state: 'needs_correction' });
    expect(result.errors[0]).toMatchObject({ code: 'document_overdrawn', eBRCNumber: number });
    expect(stage.pushes(exporter)).toBe(0);
  });

  it('of another date with the same number only warns', async () => {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter, { mappedIRMAmountFCC: 500 });
    await certifyByHand(
      stage,
      exporter,
      { ...row, sbCumInvoiceDate: daysAgo(400) },
      { realisedValueFCC: 600, daysAgo: 40 },
    );
    const filing = await stage.file(exporter, [row]);
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    const { warnings } = await stage.view(filing);
    await soon(() => JSON.stringify(warnings).includes('document_overdrawn'));
  });

  it('is counted over all IRMs of the company', async () => {
    const exporter = await stage.exporter();
    const other = await stage.exporter({ iec: (await stage.account(exporter)).iec });
    const row = stage.mapping(exporter, { mappedIRMAmountFCC: 700 });
    const first = await stage.file(exporter, [row]);
    expect(await first.result()).toMatchObject({ state: 'certified' });
    const second = stage.mapping(other, {
      ...row,
      irmNumber: other.irmNumber,
      mappedIRMAmountFCC: 400,
      billNo: 'SECOND',
    });
    const result = await (await stage.file(other, [second])).result();
    expect(codesOf(result)).toContain('document_overdrawn');
    expect(stage.pushes(other)).toBe(0);
  });
});
