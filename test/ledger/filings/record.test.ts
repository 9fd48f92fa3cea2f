import type { MappingRow } from '../../../src/domain/filing/mapping';
import { previewFiling } from '../../../src/ledger/filings/record';
import { useTestDatabase } from '../../support/postgres';
import { changed, ended, EXPORTER, knowExporter, listCertificate, locked, made, newRows } from './recording';
import { irm, readIrms, record, rowsOf, sent, settled, type More } from './recording';
import { addEvent } from '../../../src/ledger/filings/move';

const ledger = useTestDatabase(async (database) => {
  await knowExporter(database);
  await readIrms(database, [irm()]);
});

/** What recording came to: the findings of a refusal, or `recorded`. */
async function outcome(reference: string, rows: MappingRow[], more: More = {}): Promise<string[]> {
  const { outcome: name, ...result } = await record(ledger, reference, rows, more);
  if (!('findings' in result)) return [name];
  return result.findings.map(({ severity, row, code, filingId, eBRCNumber, allowDuplicate }) =>
    [severity, row, code, filingId, eBRCNumber, allowDuplicate].filter(Boolean).join(' '),
  );
}
const RECORDED = ['recorded'];
const storedRows = (filingId: string) =>
  ledger.select(
    `SELECT ordinal, beside, beside_reason AS reason, state, iec FROM filing_rows WHERE filing_id = $1 ORDER BY position`,
    filingId,
  );
const filingOf = async (filingId: string) =>
  (await ledger.select('SELECT * FROM filings WHERE filing_id = $1', filingId))[0] ?? {};
const permit = (row: number, besides?: string[]) => ({
  allowDuplicate: [{ row, reason: 'meant', ...(besides && { besides }) }],
});

/** The approval policy of every exporter, with its record. */
async function setPolicy(approval: 'required' | 'off'): Promise<void> {
  await ledger.pool.query(
    `INSERT INTO principals (mode, name, name_key, roles) VALUES ('test', 'one', 'one', '{admin}'), ('test', 'two', 'two', '{admin}')
     ON CONFLICT DO NOTHING`,
  );
  await ledger.pool.query(
    `INSERT INTO policy_changes (exporter_id, approval, changed_by, principal_id, second_id)
     SELECT exporter_id, $1, 'one', one.principal_id, two.principal_id
       FROM exporters, principals one, principals two WHERE one.name = 'one' AND two.name = 'two'`,
    [approval],
  );
  await ledger.pool.query('UPDATE exporters SET requires_approval = $1', [approval === 'required']);
}

describe('a filing', () => {
  it('is recorded with its rows, its maker and its story', async () => {
    const filingId = await made(ledger, 'FIRST', newRows(2), { run: 'run-1' });
    expect(await filingOf(filingId)).toMatchObject({
      ...{
        reference: 'FIRST',
        n: 1,
        iec: 'AAGCM4521K',
        state: 'checking',
        made_by: 'asha',
        maker_id: null,
        run: 'run-1',
      },
      ...{ approval: null, closed_at: null, corrects: null },
    });
    const row = { ordinal: 0, beside: [], reason: null, state: 'planned', iec: 'AAGCM4521K' };
    expect(await storedRows(filingId)).toEqual([row, row]);
    const story = await ledger.select('SELECT type, text, who FROM events WHERE filing_id = $1', filingId);
    expect(story).toEqual([{ type: 'ebrc.filing.checking', text: '2 rows recorded, declaration Y', who: 'asha' }]);
  });

  it('has at most 999 rows: more are refused with the row at which to cut', async () => {
    const rows = newRows(1000);
    expect(await outcome('LARGE', rows)).toEqual(['error 1000 too_many_rows']);
    expect(await outcome('LARGE', rows.slice(0, 999))).toEqual(RECORDED);
  });

  it('waits for an approval where the policy or its start asks for it', async () => {
    const approval = async (reference: string, more: More = {}) =>
      (await filingOf(await made(ledger, reference, newRows(), more))).approval;
    expect(await approval('ASKED', { approval: true })).toBe('maker');
    await setPolicy('required');
    expect(await approval('POLICY')).toBe('policy');
    await setPolicy('off');
  });
});

describe('the same reference', () => {
  it('with the same content is what stands, whatever became of it', async () => {
    const rows = newRows(2);
    const filingId = await made(ledger, 'SAME', rows);
    const again = { outcome: 'standing', filingId };
    expect(await record(ledger, 'SAME', rows)).toEqual(again);
    expect(await record(ledger, 'SAME', [...rows].reverse(), { workflowId: 'another' })).toEqual(again);
    await settled(ledger, filingId, 'certified');
    await settled(ledger, filingId, 'rejected', 1);
    await ended(ledger, filingId, 'partly_certified');
    expect(await record(ledger, 'SAME', rows)).toEqual(again);
  });

  it('with other content is taken, and names what is recorded', async () => {
    const filingId = await made(ledger, 'TAKEN', newRows());
    const refused = await record(ledger, 'TAKEN', newRows());
    expect(refused).toMatchObject({ outcome: 'refused', recorded: filingId });
    expect(refused).toMatchObject({ findings: [{ code: 'reference_taken', filingId }] });
    await knowExporter(ledger, 'exporter-2', 'AAGCM4522K');
    expect(await outcome('TAKEN', newRows(), { exporterId: 'exporter-2' })).toEqual([
      `error reference_taken ${filingId}`,
    ]);
  });

  it('has no number but the first one, and those of corrections', async () => {
    const filingId = await made(ledger, 'NUMBERS', newRows());
    expect(await outcome('NUMBERS', newRows(), { n: 2 })).toEqual([`error wrong_number ${filingId}`]);
    expect(await outcome('NUMBERS', newRows(), { n: 3, corrects: filingId })).toEqual([
      `error wrong_number ${filingId}`,
    ]);
    expect(await outcome('NEVER', newRows(), { n: 2, corrects: filingId })).toEqual(['error wrong_number']);
  });

  it('asked for by many at once records one filing', async () => {
    const same = newRows();
    const others = [newRows(1, { irmNumber: 'IRM-X' }), newRows(1, { irmNumber: 'IRM-Y' })];
    const outcomes = await Promise.all([same, same, ...others, same].map((rows) => record(ledger, 'AT-ONCE', rows)));
    expect(outcomes.filter((one) => one.outcome === 'recorded')).toHaveLength(1);
    expect(await ledger.select(`SELECT 1 FROM filings WHERE reference = 'AT-ONCE'`)).toHaveLength(1);
    for (const one of outcomes)
      if (one.outcome === 'refused') expect(one.findings).toMatchObject([{ code: 'reference_taken' }]);
  });
});

describe('the same mapping', () => {
  it('is refused by the name of the one that holds it, and free once its row is', async () => {
    const rows = newRows(2);
    const holder = await made(ledger, 'HOLDER', rows);
    expect(await outcome('SECOND', rows)).toEqual([
      `error 1 mapping_held ${holder} 1,2=REASON`,
      `error 2 mapping_held ${holder} 1,2=REASON`,
    ]);
    await sent(ledger, holder);
    await settled(ledger, holder, 'certified', 0);
    await settled(ledger, holder, 'rejected', 1);
    expect(await outcome('SECOND', rows)).toEqual([`error 1 mapping_held ${holder} 1=REASON`]);
    expect(await outcome('SECOND', rows.slice(1))).toEqual(RECORDED);
  });

  it('is won by one of many at once', async () => {
    const rows = newRows(3);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, at) => record(ledger, `RACE-${at}`, at % 2 ? rows : [...rows].reverse())),
    );
    const [winner, ...more] = outcomes.filter((one) => one.outcome === 'recorded');
    expect(more).toEqual([]);
    const holder = { code: 'mapping_held', filingId: winner?.filingId };
    for (const one of outcomes)
      if (one.outcome === 'refused') expect(one.findings).toMatchObject([holder, holder, holder]);
  });

  it('is of all clients of one IEC, and of no other', async () => {
    const rows = newRows();
    const holder = await made(ledger, 'COMPANY', rows);
    await knowExporter(ledger, 'exporter-twin', 'AAGCM4521K');
    await knowExporter(ledger, 'exporter-3', 'AAGCM4523K');
    expect(await outcome('TWIN', rows, { exporterId: 'exporter-twin' })).toEqual([
      `error 1 mapping_held ${holder} 1=REASON`,
    ]);
    expect(await outcome('OTHERS', rows, { exporterId: 'exporter-3' })).toEqual(RECORDED);
  });

  it('stands beside another with another bill and amount, and the database knows beside whom', async () => {
    const rows = newRows(1, { sbCumInvoiceValueinFCC: 1_000 });
    const first = await made(ledger, 'INVOICE-1', rows);
    expect(await outcome('INVOICE-2', changed(rows, { mappedIRMAmountFCC: 200 }))).toEqual([
      `error 1 mapping_held ${first} 1=REASON`,
    ]);
    const second = await made(ledger, 'INVOICE-2', changed(rows, { mappedIRMAmountFCC: 200, billNo: 'INV-B' }));
    expect(await storedRows(second)).toMatchObject([{ ordinal: 1, beside: [first], reason: null }]);
    expect(await filingOf(second)).toMatchObject({ approval: null, warnings: [{ code: 'mapping_beside' }] });
  });

  it('is found where document and bill number changed places', async () => {
    const [row] = newRows();
    const holder = await made(ledger, 'PLACES', row ? [row] : []);
    const swapped = { sbCumInvoiceNumber: row?.mapping.billNo, billNo: row?.mapping.sbCumInvoiceNumber };
    expect(await outcome('PLACES-2', changed(row ? [row] : [], swapped))).toEqual([
      `error 1 mapping_held ${holder} 1=REASON`,
    ]);
  });

  it('is kept single by PostgreSQL itself', async () => {
    const filingId = await made(ledger, 'INDEX', newRows());
    const columns = `source_row, mode, iec, mapping, irm_key, document_key, bill_key, amount, currency, fingerprint, ordinal`;
    const copy = `INSERT INTO filing_rows (filing_id, position, ${columns}) SELECT filing_id, position + 1, ${columns}
      FROM filing_rows WHERE filing_id = $1`;
    await expect(ledger.pool.query(copy, [filingId])).rejects.toMatchObject({ constraint: 'filing_rows_held' });
  });
});

describe('a permission', () => {
  it('lets just the named row pass beside those that it names, and the filing waits for a second person', async () => {
    const rows = newRows(2, { sbCumInvoiceValueinFCC: 1_000 });
    const holder = await made(ledger, 'PERMIT', rows);
    expect(await outcome('PERMIT-2', rows, permit(1))).toEqual([
      `warning 1 mapping_held ${holder}`,
      `error 2 mapping_held ${holder} 1,2=REASON`,
    ]);
    const one = rows.slice(0, 1);
    expect(await outcome('PERMIT-2', one, permit(1, ['F-ANOTHER']))).toEqual([
      `error 1 mapping_held ${holder} 1=REASON`,
    ]);
    await setPolicy('required');
    const second = await made(ledger, 'PERMIT-2', one, permit(1, [holder]));
    await setPolicy('off');
    expect(await storedRows(second)).toMatchObject([{ ordinal: 1, beside: [holder], reason: 'meant' }]);
    expect(await filingOf(second)).toMatchObject({ approval: 'duplicate', warnings: [{ code: 'mapping_held' }] });
  });

  it.each([
    ['an answer may still come', 'sending', 'submitting'],
    ['the outcome is unknown', 'unknown', 'outcome_unknown'],
    ['its request is denied', 'accepted', 'outcome_unknown'],
    ['it is overdue', 'accepted', 'overdue'],
  ])('is none beside a row of which %s', async (_, verdict, state) => {
    const rows = newRows(1, { sbCumInvoiceValueinFCC: 1_000 });
    const holder = await made(ledger, `UNKNOWN-${verdict}-${state}`, rows);
    await sent(ledger, holder, verdict, state);
    const refused = await record(ledger, `BESIDE-${verdict}-${state}`, rows, permit(1, [holder]));
    expect(refused).toMatchObject({ findings: [{ code: 'mapping_held', severity: 'error', filingId: holder }] });
    expect(JSON.stringify(refused)).not.toContain('allowDuplicate');
    await ledger.pool.query(`UPDATE attempts SET verdict = 'accepted' WHERE filing_id = $1`, [holder]);
    await ledger.pool.query(`UPDATE filings SET state = 'processing' WHERE filing_id = $1`, [holder]);
    expect(await outcome(`BESIDE-${verdict}-${state}`, rows, permit(1, [holder]))).toEqual(RECORDED);
  });

  it('in one file is needed for rows that are all equal', async () => {
    const [row] = newRows(1, { sbCumInvoiceValueinFCC: 1_000 });
    const twice = row ? [row, { row: 2, mapping: { ...row.mapping, serialNo: 2 } }] : [];
    expect(await outcome('TWINS', twice)).toEqual(['error 2 duplicate_mapping 2=REASON']);
    const filingId = await made(ledger, 'TWINS', twice, permit(2));
    expect(await storedRows(filingId)).toMatchObject([
      { ordinal: 0, reason: null },
      { ordinal: 1, beside: [], reason: 'meant' },
    ]);
    expect(await filingOf(filingId)).toMatchObject({ approval: 'duplicate' });
  });
});

describe('a document', () => {
  it('is overdrawn by another IRM, across filings and certificates, with the same way round', async () => {
    const rows = newRows(1, { mappedIRMAmountFCC: 600, sbCumInvoiceValueinFCC: 1_000 });
    const first = await made(ledger, 'ACCOUNT', rows);
    const more = (amount: number) => changed(rows, { irmNumber: 'IRM2', mappedIRMAmountFCC: amount, billNo: 'B2' });
    expect(await outcome('ACCOUNT-2', more(401))).toEqual([`error 1 document_overdrawn ${first} 1=REASON`]);
    expect(await outcome('ACCOUNT-2', more(400))).toEqual(RECORDED);
    await listCertificate(ledger, 'E-ELSEWHERE', { ...rows[0]?.mapping, mappedIRMAmountFCC: 1 });
    const [refused] = await outcome('ACCOUNT-3', changed(rows, { irmNumber: 'IRM3', mappedIRMAmountFCC: 10 }));
    expect(refused).toBe(`error 1 document_overdrawn ${first} E-ELSEWHERE 1=REASON`);
    const let_in = await made(
      ledger,
      'ACCOUNT-3',
      changed(rows, { irmNumber: 'IRM3', mappedIRMAmountFCC: 10 }),
      permit(1),
    );
    expect(await filingOf(let_in)).toMatchObject({ approval: 'duplicate' });
    expect((await storedRows(let_in))[0]?.beside).toEqual(expect.arrayContaining([first, 'E-ELSEWHERE']));
  });

  it('is not filled twice by filings of different IRMs at once', async () => {
    const rows = newRows(1, { mappedIRMAmountFCC: 600, sbCumInvoiceValueinFCC: 1_000 });
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, at) => outcome(`FILL-${at}`, changed(rows, { irmNumber: `IRM-F${at}` }))),
    );
    expect(outcomes.filter(([one]) => one === 'recorded')).toHaveLength(1);
    expect(outcomes.flat().filter((one) => one.includes('document_overdrawn'))).toHaveLength(5);
  });

  it('counts a certificate of a row on its way once, and a cancelled one not at all', async () => {
    const rows = newRows(1, { mappedIRMAmountFCC: 600, sbCumInvoiceValueinFCC: 1_000 });
    const first = await made(ledger, 'ONCE', rows);
    await sent(ledger, first);
    await listCertificate(ledger, 'E-ONCE', rows[0]?.mapping);
    await listCertificate(ledger, 'E-CANCELLED', { ...rows[0]?.mapping, mappedIRMAmountFCC: 300 }, 'Cancelled');
    expect(await outcome('ONCE-2', changed(rows, { irmNumber: 'IRM2', mappedIRMAmountFCC: 400 }))).toEqual(RECORDED);
  });

  it('only warns of the number with another date', async () => {
    const rows = newRows(1);
    await made(ledger, 'LAST-YEAR', rows);
    const filingId = await made(
      ledger,
      'THIS-YEAR',
      changed(rows, { irmNumber: 'IRM2', sbCumInvoiceDate: '02012026' }),
    );
    expect(await filingOf(filingId)).toMatchObject({ warnings: [{ code: 'document_overdrawn', severity: 'warning' }] });
  });
});

describe('a certificate that is nobody’s', () => {
  it('stands against a row of its document, currency and amount', async () => {
    const rows = newRows(2, { sbCumInvoiceValueinFCC: 1_000 });
    await listCertificate(ledger, 'E-BY-HAND', rows[1]?.mapping);
    expect(await outcome('CERTIFIED', rows)).toEqual(['error 2 already_certified E-BY-HAND 2=REASON']);
    expect(await outcome('CERTIFIED', rows, permit(2, ['E-OTHER']))).toEqual([
      'error 2 already_certified E-BY-HAND 2=REASON',
    ]);
    const filingId = await made(ledger, 'CERTIFIED', rows, permit(2, ['E-BY-HAND']));
    expect(await storedRows(filingId)).toMatchObject([{ beside: [] }, { beside: ['E-BY-HAND'], reason: 'meant' }]);
    expect(await filingOf(filingId)).toMatchObject({ approval: 'duplicate' });
  });
  it('is none that a row has, or whose number a record gives to a row', async () => {
    const rows = newRows(1, { sbCumInvoiceValueinFCC: 1_000 });
    const first = await made(ledger, 'OURS', rows);
    await sent(ledger, first);
    await listCertificate(ledger, 'E-OURS', rows[0]?.mapping);
    const other = changed(rows, { irmNumber: 'IRM2', billNo: 'B2' });
    expect(await outcome('OURS-2', other)).toEqual(['error 1 already_certified E-OURS 1=REASON']);
    await ledger.pool.query(`UPDATE filing_rows SET record_number = 'E-OURS' WHERE filing_id = $1`, [first]);
    expect(await outcome('OURS-2', other)).toEqual(RECORDED);
  });
});

describe('an IRM number', () => {
  it('that differs from the held one in zeros, case or blanks is an error that says what to write', async () => {
    await readIrms(ledger, [irm(), irm({ irmNumber: '00123' })]);
    const spelled = async (irmNumber: string) => record(ledger, `SPELLED ${irmNumber}`, newRows(1, { irmNumber }));
    for (const [wrong, right] of [
      ['irm2026000001', 'IRM2026000001'],
      [' IRM2026000001', 'IRM2026000001'],
      ['123', '00123'],
    ] as const) {
      const message = expect.stringContaining(`Write ${right}.`) as string;
      expect(await spelled(wrong)).toMatchObject({ findings: [{ code: 'irm_number_spelling', message }] });
    }
    expect(await spelled('00123')).toMatchObject({ outcome: 'recorded' });
  });
});

describe('a correction', () => {
  /** A filing of three rows, of which the first is certified. */
  async function partly(reference: string) {
    const rows = newRows(3, { sbCumInvoiceValueinFCC: 1_000 });
    const filingId = await made(ledger, reference, rows);
    await sent(ledger, filingId);
    await settled(ledger, filingId, 'certified', 0);
    return { filingId, rows, corrects: filingId, n: 2 };
  }
  const correctedBy = async (filingId: string) =>
    (await ledger.select('SELECT corrected_by FROM filing_rows WHERE filing_id = $1 ORDER BY position', filingId)).map(
      (row) => row.corrected_by,
    );

  it('takes the freed rows with any content, once they have their outcomes, whether or not the filing has ended', async () => {
    const { filingId, rows, ...next } = await partly('CORRECT');
    expect(await outcome('CORRECT', rows.slice(1), next)).toEqual([`error not_correctable ${filingId}`]);
    await settled(ledger, filingId, 'rejected', 1);
    await settled(ledger, filingId, 'rejected', 2);
    const content = [...changed(rows.slice(1, 2), { mappedIRMAmountFCC: 90 }), ...newRows()];
    const second = await made(ledger, 'CORRECT', content, next);
    expect(await correctedBy(filingId)).toEqual([null, second, second]);
    expect(await filingOf(second)).toMatchObject({ n: 2, corrects: filingId, workflow_id: 'file/test/CORRECT/2' });
    expect(await record(ledger, 'CORRECT', content, next)).toEqual({ outcome: 'standing', filingId: second });
    expect(await outcome('CORRECT', newRows(), next)).toEqual([`error reference_taken ${second}`]);
    expect(await outcome('CORRECT', newRows(), { ...next, n: 3 })).toEqual([`error not_correctable ${filingId}`]);
  });

  it('clears the attention of what it takes over, all of it', async () => {
    const { filingId, rows, ...next } = await partly('ATTENTION');
    for (const position of [1, 2]) await settled(ledger, filingId, 'rejected', position);
    await ended(ledger, filingId, 'partly_certified');
    await made(ledger, 'ATTENTION', rows.slice(2), next);
    expect(await correctedBy(filingId)).toEqual([null, null, expect.any(String)]);
    expect(await filingOf(filingId)).toMatchObject({ attention: 'correct it' });
    await made(ledger, 'ATTENTION', rows.slice(1, 2), { ...next, n: 3 });
    expect(await filingOf(filingId)).toMatchObject({ attention: null, state: 'partly_certified' });
    const story = await ledger.select(
      `SELECT text FROM events WHERE filing_id = $1 AND kind = 'corrected' ORDER BY ordinal`,
      filingId,
    );
    expect(story.map(({ text }) => text)).toEqual([
      '1 row filed again as ATTENTION#2',
      '1 row filed again as ATTENTION#3',
    ]);
  });

  it('holds beside rows of its reference as many as were freed, and never what one of them is', async () => {
    const [row] = newRows(1, { sbCumInvoiceValueinFCC: 1_000 });
    const two = row ? [row, { row: 2, mapping: { ...row.mapping, serialNo: 2, mappedIRMAmountFCC: 200 } }] : [];
    const filingId = await made(ledger, 'TRANCHES', two);
    await sent(ledger, filingId);
    await settled(ledger, filingId, 'certified', 0);
    await settled(ledger, filingId, 'rejected', 1);
    const next = { n: 2, corrects: filingId };
    expect(await outcome('TRANCHES', changed(two.slice(1), { mappedIRMAmountFCC: 100 }), next)).toEqual([
      `error 2 mapping_held ${filingId} 2=REASON`,
    ]);
    expect(await outcome('TRANCHES-OTHER', two.slice(1))).toEqual([`error 2 mapping_held ${filingId} 2=REASON`]);
    expect(await outcome('TRANCHES', two.slice(1), next)).toEqual(RECORDED);
  });

  it('does not pass beside a filing that took the mapping meanwhile', async () => {
    const { filingId, rows, ...next } = await partly('MEANWHILE');
    for (const position of [1, 2]) await settled(ledger, filingId, 'rejected', position);
    const thief = await made(ledger, 'MEANWHILE-OTHER', rows.slice(1));
    expect(await outcome('MEANWHILE', rows.slice(1, 2), next)).toEqual([`error 2 mapping_held ${thief} 2=REASON`]);
  });

  it('is one of many at once', async () => {
    const { filingId, rows, ...next } = await partly('CORRECT-RACE');
    for (const position of [1, 2]) await settled(ledger, filingId, 'rejected', position);
    const contents = Array.from({ length: 5 }, (_, at) => changed(rows.slice(1), { mappedIRMAmountFCC: 50 + at }));
    const outcomes = await Promise.all(contents.map((content) => outcome('CORRECT-RACE', content, next)));
    expect(outcomes.filter(([one]) => one === 'recorded')).toHaveLength(1);
    expect(outcomes.flat().filter((one) => one.includes('reference_taken'))).toHaveLength(4);
  });

  it('is of one exporter and reference', async () => {
    const { filingId, rows, ...next } = await partly('WHOSE');
    for (const position of [1, 2]) await settled(ledger, filingId, 'rejected', position);
    await knowExporter(ledger, 'exporter-4', 'AAGCM4524K');
    const refused = [`error not_correctable ${filingId}`];
    expect(await outcome('WHOSE', rows.slice(1), { ...next, exporterId: 'exporter-4' })).toEqual(refused);
    const other = await made(ledger, 'WHOSE-2', newRows());
    expect(await outcome('WHOSE-2', rows.slice(1), next)).toEqual(refused);
    expect(await outcome('WHOSE-2', rows.slice(1), { ...next, corrects: 'F-NONE' })).toEqual([
      'error not_correctable F-NONE',
    ]);
    expect(other).not.toBe(filingId);
  });
});

it('says before what recording, checking and reserving would say', async () => {
  const rows = newRows(1, { irmNumber: 'IRM2026000001', mappedIRMAmountFCC: 900, sbCumInvoiceValueinFCC: 900 });
  const preview = async (of: MappingRow[], more = {}) =>
    (await previewFiling(ledger.pool, { mode: 'test', exporterId: EXPORTER, rows: of, ...more })).map(
      ({ severity, code }) => `${severity} ${code}`,
    );
  expect(await preview(rows)).toEqual([]);
  expect(await preview(rowsOf({ ...rows[0]?.mapping, irmRemitAmtFCC: 20_000, mappedIRMAmountFCC: 20_000 }))).toEqual([
    'error document_overdrawn',
    'warning irm_amount_differs',
    'error over_remittance',
  ]);
  const filingId = await made(ledger, 'PREVIEW', rows);
  expect(await preview(rows)).toContain('error mapping_held');
  expect(await preview(rows, { allowDuplicate: [{ row: 1, reason: 'x' }] })).toContain('warning mapping_held');
  await locked(ledger, filingId, (client, filing) => addEvent(client, filing, { kind: 'noted', text: 'x' }));
  await settled(ledger, filingId, 'released');
  expect(await preview(rows, { corrects: { filingId, reference: 'PREVIEW' } })).toEqual([]);
});
