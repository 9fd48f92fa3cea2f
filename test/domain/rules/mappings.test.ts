import fc from 'fast-check';
import { mappingRow } from '../../../dev/sample-mapping';
import { judgeObjections } from '../../../src/domain/rules/duplicates';
import {
  judgeMappings,
  mappingKeysOf,
  mayStandBeside,
  repeats,
  type FreedMapping,
  type HeldMapping,
} from '../../../src/domain/rules/mappings';
import type { Mapping } from '../../../src/domain/filing/mapping';

const BILLS = ['B-1', 'B-2', '777'];
const row = (changes: Partial<Mapping> = {}, at = 1) => mappingRow({ billNo: 'B-1', ...changes }, at);
const held = (changes: Partial<Mapping> = {}, more: Partial<HeldMapping> = {}): HeldMapping => ({
  ...mappingKeysOf(row(changes).mapping),
  ...{ filingId: 'F1', reference: 'R1', n: 1, state: 'processing', ordinal: 0, eBRCNumber: null },
  unknown: false,
  ...more,
});
const freed = (changes: Partial<Mapping> = {}, more: Partial<FreedMapping> = {}): FreedMapping => ({
  ...mappingKeysOf(row(changes).mapping),
  ...{ position: 0, beside: [], reason: null },
  ...more,
});
/** What is objected to and warned of, and the ordinals. */
function judge(args: Partial<Parameters<typeof judgeMappings>[0]>) {
  const { claims, objections, warnings } = judgeMappings({ rows: [row()], held: [], reference: 'R2', ...args });
  return {
    ordinals: claims.map(({ ordinal }) => ordinal),
    beside: claims.map(({ beside }) => beside.join()),
    refused: objections.map((one) => `${one.row} ${one.code} ${one.filings.join()}${one.unknown ? ' unknown' : ''}`),
    warned: warnings.map((one) => `${one.row} ${one.code} ${one.filingId}`),
  };
}
const OTHER = { billNo: 'B-2', mappedIRMAmountFCC: 10 };

describe('the same mapping', () => {
  it.each([
    ['dates, AD code, IFSC', { irmDt: '06012026', sbCumInvoiceDate: '01012026', irmAdCode: '0510009' }],
    ['zeros, case, blanks and dashes', { irmNumber: ' irm2026000001\u200b', sbCumInvoiceNumber: '01234567' }],
    ['its amount', { mappedIRMAmountFCC: 7999 }],
    ['its bill number', { billNo: 'B-2' }],
  ])('is one whatever %s', (_, changes) => {
    expect(judge({ held: [held(changes)] }).refused).toEqual(['1 mapping_held F1']);
  });

  it('is another with another IRM or document', () => {
    for (const changes of [{ irmNumber: 'IRM2' }, { sbCumInvoiceNumber: '2' }])
      expect(judge({ held: [held(changes)] })).toEqual({ ordinals: [0], beside: [''], refused: [], warned: [] });
  });

  it('stands beside one of another filing where bill and amount differ, and is warned of', () => {
    const expected = { ordinals: [1], beside: ['F1'], refused: [], warned: ['1 mapping_beside F1'] };
    expect(judge({ held: [held(OTHER)] })).toEqual(expected);
    // Without a bill number nothing tells them apart.
    expect(judge({ held: [{ ...held(OTHER), bill: '' }] }).refused).toEqual(['1 mapping_held F1']);
  });

  it('is found where document and bill number changed places', () => {
    const invoice = { sbCumInvoiceNumber: 'B-1', billNo: 'X' };
    expect(judge({ held: [held(invoice)] }).refused).toEqual(['1 mapping_held F1']);
    expect(judge({ rows: [row(invoice)], held: [held()] }).refused).toEqual(['1 mapping_held F1']);
    expect(judge({ held: [held({ ...invoice, mappedIRMAmountFCC: 10 })] }).refused).toEqual([]);
    expect(judge({ held: [held({ ...invoice, irmNumber: 'IRM2' })] }).refused).toEqual([]);
  });

  it('stands beside itself in one file where bill or amount differ, and is refused where both are equal', () => {
    const three = [row(), row({ billNo: 'B-2' }, 2), row({ mappedIRMAmountFCC: 10 }, 3)];
    expect(judge({ rows: three })).toMatchObject({ ordinals: [0, 1, 2], refused: [] });
    expect(judge({ rows: [row(), row({ irmDt: '06012026' }, 2)] }).refused).toEqual(['2 duplicate_mapping ']);
  });
});

describe('a correction', () => {
  const own = { reference: 'R1' };
  it('holds as many rows as were freed, beside rows of its reference as in one file', () => {
    const sibling = held({ billNo: 'B-2' });
    expect(judge({ ...own, held: [sibling] }).refused).toEqual(['1 mapping_held F1']);
    expect(judge({ ...own, held: [sibling], freed: [freed()] })).toMatchObject({ ordinals: [1], refused: [] });
    const two = [row(), row({ mappedIRMAmountFCC: 10 }, 2)];
    expect(judge({ ...own, rows: two, held: [sibling], freed: [freed()] }).refused).toEqual([]);
    expect(
      judge({ ...own, rows: [row(), row({ billNo: 'B-2' }, 2)], held: [sibling], freed: [freed()] }).refused,
    ).toEqual(['2 mapping_held F1']);
  });

  it('does not turn into what is held already', () => {
    expect(judge({ ...own, held: [held()], freed: [freed({ billNo: 'B-2' })] }).refused).toEqual(['1 mapping_held F1']);
  });

  it('keeps what was let in before, and only that', () => {
    const args = { ...own, held: [held({}, { filingId: 'F9', reference: 'R9' })] };
    const before = freed({}, { beside: ['F9'], reason: 'two tranches' });
    expect(judge({ ...args, freed: [before] })).toMatchObject({ ordinals: [1], beside: ['F9'], refused: [] });
    expect(judgeMappings({ rows: [row()], ...args, freed: [before] }).claims[0]?.reason).toBe('two tranches');
    expect(judge({ ...args, freed: [freed()] }).refused).toEqual(['1 mapping_held F9']);
    expect(judge({ ...args, freed: [{ ...before, amount: '10' }] }).refused).toEqual(['1 mapping_held F9']);
    const unknown = [held({}, { filingId: 'F9', reference: 'R9', unknown: true })];
    expect(judge({ ...args, held: unknown, freed: [before] }).refused).toEqual(['1 mapping_held F9 unknown']);
  });
});

describe('a permission', () => {
  const judged = (holders: HeldMapping[], permit?: { besides?: string[] }) => {
    const { objections } = judgeMappings({ rows: [row()], held: holders, reference: 'R2' });
    return judgeObjections(objections, permit ? [{ row: 1, reason: 'meant', ...permit }] : []);
  };

  it('lets a row pass beside the holders that it names, or all of them', () => {
    const refused = judged([held()]).findings;
    expect(refused).toMatchObject([{ severity: 'error', filingId: 'F1', allowDuplicate: '1=REASON' }]);
    for (const permit of [{}, { besides: ['F1'] }]) {
      const { findings, letIn } = judged([held()], permit);
      expect(findings).toMatchObject([{ severity: 'warning', code: 'mapping_held' }]);
      expect(letIn.get(0)).toEqual({ beside: ['F1'], reason: 'meant' });
    }
    const two = [held(), held({}, { filingId: 'F2', ordinal: 1 })];
    expect(judged(two, { besides: ['F1'] }).findings).toMatchObject([{ severity: 'error' }]);
    const { objections } = judgeMappings({ rows: [row()], held: two, reference: 'R2' });
    const both = ['F1', 'F2'].map((name) => ({ row: 1, reason: `beside ${name}`, besides: [name] }));
    expect(judgeObjections(objections, both).letIn.get(0)).toEqual({
      ...{ beside: ['F1', 'F2'], reason: 'beside F1; beside F2' },
    });
  });

  it('is told of once, however many rows are refused', () => {
    const rows = [1, 2, 3].map((nth) => row({ sbCumInvoiceNumber: `INV-${nth}`, billNo: `B-${nth}` }, nth));
    const holders = rows.map(({ mapping }) => held(mapping));
    const { objections } = judgeMappings({ rows, held: holders, reference: 'R2' });
    const { findings } = judgeObjections(objections, []);
    expect(findings.map(({ allowDuplicate }) => allowDuplicate)).toEqual(Array(3).fill('1-3=REASON'));
    expect(findings.filter(({ message }) => message.includes('--allow-duplicate 1-3=REASON'))).toEqual([findings[0]]);
    const unknown = holders.map((holder) => ({ ...holder, unknown: true }));
    const stuck = judgeObjections(judgeMappings({ rows, held: unknown, reference: 'R2' }).objections, []).findings;
    expect(stuck.filter(({ message }) => message.includes('not known yet'))).toEqual([stuck[0]]);
  });

  it('is none beside a row whose outcome is unknown', () => {
    const [finding] = judged([held({}, { unknown: true })], {}).findings;
    expect(finding).toMatchObject({ severity: 'error', filingId: 'F1' });
    expect(finding?.allowDuplicate).toBeUndefined();
  });
});

const mappings = fc.record({
  irmNumber: fc.constantFrom('IRM1', 'irm1', 'IRM2'),
  sbCumInvoiceNumber: fc.constantFrom('777', '0777', '888', 'B-1'),
  billNo: fc.constantFrom(...BILLS),
  mappedIRMAmountFCC: fc.constantFrom(10, 20),
});

it('no two rows of a mapping hold one ordinal, and those that are all equal never hold it together', () => {
  fc.assert(
    fc.property(fc.array(fc.array(mappings, { minLength: 1, maxLength: 4 }), { maxLength: 6 }), (files) => {
      const held: HeldMapping[] = [];
      for (const [filing, file] of files.entries()) {
        const rows = file.map((changes, index) => mappingRow(changes, index + 1));
        const { claims, objections } = judgeMappings({ rows, held, reference: `R${filing}` });
        if (objections.length > 0) continue;
        for (const [position, { mapping }] of rows.entries()) {
          const more = { filingId: `F${filing}`, reference: `R${filing}`, ordinal: claims[position]?.ordinal ?? 0 };
          held.push({
            ...mappingKeysOf(mapping),
            n: 1,
            state: '',

            eBRCNumber: null,
            unknown: false,
            ...more,
          });
        }
      }
      for (const [at, one] of held.entries()) {
        for (const other of held.slice(at + 1)) {
          if (one.irm === other.irm && one.document === other.document) expect(one.ordinal).not.toBe(other.ordinal);
          const within = one.filingId === other.filingId ? 'file' : 'filings';
          if (repeats(one, other)) expect(mayStandBeside(one, other, within)).toBe(true);
        }
      }
    }),
  );
});

it('judges the whole of a large file', () => {
  const rows = Array.from({ length: 999 }, (_, at) => row({ sbCumInvoiceNumber: String(at), billNo: `C-${at}` }, at));
  const holders = rows.map(({ mapping }) => held({ ...mapping, sbCumInvoiceNumber: `${mapping.sbCumInvoiceNumber}X` }));
  expect(judgeMappings({ rows, held: holders, reference: 'R' }).objections).toEqual([]);
});
