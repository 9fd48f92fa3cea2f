import { releaseRows, releaseUnsent, settleRows } from '../ledger-steps';
import { saveCertificates } from '../../../src/ledger/certificates/certificates';
import { balanceFindings } from '../../../src/ledger/rows/balance-reservation';
import { detailOf } from '../../reports/ledger-of-a-month';
import { readSubmissions } from '../../../src/ledger/submissions/submissions';
import { moveRows, readRows } from '../../../src/ledger/rows/filing-rows';
import { findFiling, needFiling } from '../../../src/ledger/filings/filings';
import type { MappingRow } from '../../../src/domain/filing/mapping';
import { holdAsSent } from '../../../src/ledger/gates/held-rows';
import { withTransaction } from '../../../src/ledger/pool';
import { useTestDatabase } from '../../support/postgres';
import { EXPORTER, knowExporter, move, NOW, open, record, refusal, rowsOf } from '../filing-support';

const ledger = useTestDatabase(knowExporter);

let documents = 5_000_000;
/** Rows that no other test has. */
const newRows = (count = 1) =>
  rowsOf(...Array.from({ length: count }, () => ({ sbCumInvoiceNumber: String((documents += 1)) })));

const OPENED = { outcome: 'opened' };
type Asked = Parameters<typeof record> extends [unknown, ...infer Rest] ? Rest : never;
const refuses = async (findings: object[], ...asked: Asked) =>
  expect(await record(ledger, ...asked)).toMatchObject(refusal(...findings));
const opens = async (...asked: Asked) => expect(await record(ledger, ...asked)).toMatchObject(OPENED);
const answers = async (outcome: 'recorded' | 'resumed', filingId: string, ...asked: Asked) =>
  expect(await record(ledger, ...asked)).toEqual({ outcome, filingId });

/** The row has its certificate by the record of its request, or was rejected. */
function settle(filingId: string, outcome: 'certified' | 'errored', position = 0) {
  const certificate = { eBRCNumber: `EBRC-${filingId}-${position}`, eBRCDate: '10022026' };
  const verdict = outcome === 'certified' ? { outcome, ...certificate } : { outcome, errors: ['ERR38'] };
  const verdicts = [{ position, ...verdict }];
  return settleRows(ledger.pool, { filingId, exporterId: EXPORTER, at: NOW, verdicts });
}

const release = (filingId: string, state: 'needs_correction' | 'withdrawn' = 'needs_correction') =>
  withTransaction(ledger.pool, (client) => releaseRows(client, { filingId, submission: 1, state, at: NOW }));
/** Ends a filing of which nothing was accepted. */
async function freed(filingId: string, state: 'needs_correction' | 'rejected' | 'abandoned'): Promise<void> {
  await release(filingId, state === 'abandoned' ? 'withdrawn' : 'needs_correction');
  await move(ledger, filingId, 'submitting', state);
}
/** Ends a filing whose one row has its certificate. */
async function certified(filingId: string): Promise<void> {
  await settle(filingId, 'certified');
  await move(ledger, filingId, 'submitting', 'processing', 'collecting', 'certified');
}

describe('the same mapping', () => {
  it('is refused in another filing, by the name of the one that holds it', async () => {
    const rows = newRows();
    const holder = await open(ledger, 'HOLDER', rows);
    const refused = await record(ledger, 'SECOND', rows);
    expect(refused).toMatchObject(refusal({ code: 'mapping_live', filingId: holder, row: 1 }));
    for (const told of ['state checking', NOW.toISOString(), 'HOLDER']) expect(JSON.stringify(refused)).toContain(told);
  });

  it('is warned of where the authority has a certificate that no filing here has', async () => {
    const [filed, other] = newRows(2);
    if (!filed || !other) throw new Error('two rows are made');
    const found = async () => balanceFindings(ledger.pool, { exporterId: EXPORTER, rows: [filed, other] });
    const warnings = async () => (await found()).filter(({ code }) => code === 'certified_elsewhere');
    expect(await warnings()).toEqual([]);
    const details = [detailOf('EB-BY-HAND', filed.mapping, NOW)];
    await saveCertificates(ledger.pool, { exporterId: EXPORTER, details, at: NOW });
    const message = expect.stringContaining('certificate EB-BY-HAND') as string;
    expect(await warnings()).toMatchObject([{ severity: 'warning', row: filed.row, message }]);
  });

  it('is refused with the row’s own outcome, whatever became of the others of its filing', async () => {
    const rows = newRows(2);
    const original = await open(ledger, 'PARTLY', rows);
    await freed(original, 'rejected');
    const holder = await open(ledger, 'PARTLY', rows, { n: 2, corrects: original });
    await settle(holder, 'certified');
    const refused = await record(ledger, 'AFTER-PARTLY', rows);
    const [certified, planned] = refused.outcome === 'refused' ? refused.findings.map(({ message }) => message) : [];
    expect(certified).toContain('(reference PARTLY#2, ');
    expect(certified).toContain('it has its certificate');
    expect(planned).not.toContain('it has its certificate');
  });

  it('is won by one of many concurrent transactions, and the refusals of the others name it', async () => {
    const rows = newRows(3);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, each) => record(ledger, `RACE-${each}`, each % 2 ? rows : [...rows].reverse())),
    );
    const [opened, ...others] = outcomes.sort((a, b) => a.outcome.localeCompare(b.outcome));
    const holder = { filingId: opened && 'filingId' in opened ? opened.filingId : '' };
    expect(opened).toMatchObject(OPENED);
    for (const refused of others) expect(refused).toMatchObject(refusal(holder, holder, holder));
  });

  it('is kept single by PostgreSQL itself, not only by a read before the write', async () => {
    const filingId = await open(ledger, 'INDEX', newRows());
    const columns = `source_row, submission, serial_no, exporter_id, party_id, irm_key, mapping, extra, document_key, mapped_amount,
      currency, fingerprint, lineage, state`;
    const copy = `INSERT INTO filing_rows (filing_id, position, ${columns})
      SELECT filing_id, position + 1, ${columns} FROM filing_rows WHERE filing_id = $1`;
    const hold = `INSERT INTO held_mappings (fingerprint, ordinal, filing_id, position)
      SELECT fingerprint, ordinal, filing_id, position + 1 FROM held_mappings WHERE filing_id = $1`;
    const insert = (...statements: string[]) =>
      withTransaction(ledger.pool, async (client) => {
        for (const statement of statements) await client.query(statement, [filingId]);
      });
    await expect(insert(copy)).rejects.toMatchObject({ constraint: 'filing_rows_live_holds_mapping' });
    await expect(insert(copy, hold)).rejects.toMatchObject({ constraint: 'held_mappings_pkey' });
    // Nor has it a second ordinal without a permission.
    const second = ledger.select('UPDATE held_mappings SET ordinal = 1 WHERE filing_id = $1', filingId);
    await expect(second).rejects.toMatchObject({ constraint: 'held_mappings_second_has_a_reason' });
  });

  it('is refused whatever the spelling, and not for another exporter', async () => {
    const [row] = newRows();
    if (!row) throw new Error('no row');
    await open(ledger, 'SPELLING', [row]);
    const { irmNumber, sbCumInvoiceNumber } = row.mapping;
    const spelled = rowsOf({
      irmNumber: ` ${irmNumber.toLowerCase()}\u200b`,
      irmAdCode: '510001',
      irmDt: '04012026',
      irmIfscCode: 'HDFC0009999',
      sbCumInvoiceNumber: `0${sbCumInvoiceNumber}`,
    });
    await refuses([{}], 'SPELLING-2', spelled);
    await knowExporter(ledger, 'exporter-2', 'AAGCM4522K');
    await opens('SPELLING-3', [row], { exporterId: 'exporter-2' });
  });

  it('stays held once it is certified, and is free once it errored', async () => {
    const rows = newRows(2);
    const holder = await open(ledger, 'OUTCOMES', rows);
    await settle(holder, 'certified', 0);
    await settle(holder, 'errored', 1);
    await refuses([{ row: 1 }], 'OUTCOMES-2', rows);
    await opens('OUTCOMES-3', rows.slice(1));
  });

  it('takes the next ordinal where its row is permitted, with the reason and who gave it', async () => {
    const rows = newRows();
    const permitted = [{ row: 1, reason: 'equal tranches' }];
    const first = await open(ledger, 'TWICE', rows);
    await refuses([{ allowDuplicate: '1=REASON' }], 'TWICE-2', rows);
    const second = await open(ledger, 'TWICE-2', rows, { permitted, madeBy: 'ravi' });
    // The second filing has not been named to anybody yet.
    await refuses([{ filingId: second }], 'TWICE-3', rows, { permitted });
    const third = await open(ledger, 'TWICE-3', rows, { permitted });
    const held = `SELECT ordinal, permit_reason AS reason, permit_besides AS besides
      FROM filing_rows JOIN held_mappings USING (filing_id, position) WHERE filing_id = ANY($1) ORDER BY ordinal`;
    expect(await ledger.select(held, [first, second, third])).toEqual([
      { ordinal: 0, reason: null, besides: null },
      { ordinal: 1, reason: 'equal tranches', besides: [first] },
      { ordinal: 2, reason: 'equal tranches', besides: [second, first] },
    ]);
    const story = `SELECT who, data FROM filing_events WHERE filing_id = $1 AND kind = 'made'`;
    const made = { who: 'ravi', data: { allowDuplicate: permitted } };
    expect(await ledger.select(story, second)).toMatchObject([made]);
    // Whoever comes without a permission is refused while any of them is live.
    await release(first);
    await refuses([{ filingId: third }], 'TWICE-4', rows);
  });

  it('lets just the permitted rows pass, beside just the filings that were named', async () => {
    const rows = newRows(4);
    const holder = await open(ledger, 'NAMED', rows.slice(0, 3));
    const one = [{ row: 2, besides: [holder], reason: 'meant' }];
    const refused = await record(ledger, 'NAMED-2', rows, { permitted: one });
    expect(refused).toMatchObject(refusal({ row: 1 }, { row: 3, allowDuplicate: '1-3=REASON' }));
    expect(JSON.stringify(refused)).toContain('"allowDuplicate":"1-3=REASON"');
    const all = [1, 2, 3].map((row) => ({ row, besides: ['F-ANOTHER'], reason: 'meant' }));
    await refuses([{ row: 1 }, { row: 2 }, { row: 3 }], 'NAMED-2', rows, { permitted: all });
    const right = all.map((each) => ({ ...each, besides: [holder] }));
    await opens('NAMED-2', rows, { permitted: right });
  });

  it('in one file takes a permitted row, and no other', async () => {
    const [row] = newRows();
    if (!row) throw new Error('no row');
    const again = { row: 2, mapping: { ...row.mapping, serialNo: 2, billNo: 'ANOTHER' } };
    const refused = await record(ledger, 'ONE-FILE', [row, again]);
    expect(refused).toMatchObject(refusal({ row: 2, allowDuplicate: '2=REASON' }));
    const permitted = [{ row: 2, reason: 'two invoices on one shipping bill' }];
    await opens('ONE-FILE', [row, again], { permitted });
  });
});

describe('the same reference', () => {
  it('continues a filing that has not ended, of which one is opened where two ask at once; no other workflow runs it', async () => {
    const rows = newRows();
    const both = await Promise.all([record(ledger, 'SAME', rows), record(ledger, 'SAME', rows)]);
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['opened', 'resumed']);
    await refuses([{ code: 'mapping_live' }], 'SAME', rows, { workflowId: 'somebody/else' });
  });

  it('answers with the recorded outcome where rows are certified, or were abandoned after the send', async () => {
    const [done, left] = [newRows(), newRows()];
    const filings = [await open(ledger, 'DONE', done), await open(ledger, 'LEFT', left)] as const;
    await certified(filings[0]);
    for (const more of [{}, { workflowId: 'somebody/else' }]) await answers('recorded', filings[0], 'DONE', done, more);
    await moveRows(ledger.pool, { filingId: filings[1], submission: null, state: 'abandoned_after_send' });
    await move(ledger, filings[1], 'abandoned');
    await answers('recorded', filings[1], 'LEFT', left);
  });

  it.each(['checking', 'certified'] as const)('refuses other content by name while it is %s', async (state) => {
    const filingId = await open(ledger, `OTHER-${state}`, newRows());
    if (state === 'certified') await certified(filingId);
    const refused = await record(ledger, `OTHER-${state}`, newRows());
    expect(refused).toMatchObject(refusal({ code: 'reference_taken', filingId }));
    expect(JSON.stringify(refused)).toContain(`state ${state}`);
  });

  it.each(['needs_correction', 'rejected', 'abandoned'] as const)(
    'means a filing for good that ended %s',
    async (state) => {
      const rows = newRows();
      const reference = `FOR-GOOD-${state}`;
      const filingId = await open(ledger, reference, rows);
      await freed(filingId, state);
      await answers('recorded', filingId, reference, rows);
      const refused = await record(ledger, reference, newRows());
      expect(refused).toMatchObject(refusal({ code: 'reference_taken', filingId }));
      expect(JSON.stringify(refused)).toContain('--again 2');
    },
  );

  it('is filed again with the next number once all its rows are free, and each number is a filing for good', async () => {
    const rows = newRows();
    const first = await open(ledger, 'AGAIN', rows);
    await refuses([{ code: 'reference_live', filingId: first }], 'AGAIN', rows, { n: 2 });
    await freed(first, 'rejected');
    await refuses([{ code: 'wrong_number', message: expect.stringContaining('--again 2') as string }], 'AGAIN', rows, {
      n: 3,
    });
    const second = await open(ledger, 'AGAIN', rows, { n: 2 });
    await answers('resumed', second, 'AGAIN', rows, { n: 2 });
    await answers('recorded', first, 'AGAIN', rows);
    await refuses([{ code: 'reference_live', filingId: second }], 'AGAIN', rows, { n: 3 });
    await refuses([{ code: 'wrong_number' }], 'NEVER', newRows(), { n: 2 });
  });

  it('names its filings as REF#n, and the newest as REF', async () => {
    const rows = newRows();
    const first = await open(ledger, 'NAMED-N', rows);
    await freed(first, 'rejected');
    const second = await open(ledger, 'NAMED-N', rows, { n: 2 });
    const find = async (name: string) => (await findFiling(ledger.pool, 'test', name))?.filingId;
    expect([await find('NAMED-N'), await find('NAMED-N#1'), await find('NAMED-N#2')]).toEqual([second, first, second]);
    expect(await find('NAMED-N#3')).toBeUndefined();
    // A caller may choose the id of its workflow: it takes no filing's name.
    await open(ledger, 'NAMED-OTHERWISE', newRows(), { workflowId: 'NAMED-N#2' });
    expect(await find('NAMED-N#2')).toBe(second);
  });
});

describe('a lineage', () => {
  const amended = (rows: MappingRow[], mappedIRMAmountFCC: number) =>
    rows.map((row) => ({ ...row, mapping: { ...row.mapping, mappedIRMAmountFCC } }));

  it('holds the mapping of a correction’s original, under whatever reference it comes again', async () => {
    const rows = newRows();
    const original = await open(ledger, 'ORIGINAL', rows);
    await freed(original, 'rejected');
    const rejected = await open(ledger, 'ORIGINAL', amended(rows, 6), { n: 2, corrects: original });
    await freed(rejected, 'rejected');
    const correction = await open(ledger, 'ORIGINAL', amended(rows, 7), { n: 3, corrects: rejected });
    await settle(correction, 'certified');
    await answers('recorded', original, 'ORIGINAL', rows);
    for (const reference of ['ORIGINAL-UNDER-ANOTHER', 'ORIGINAL-AGAIN']) {
      await refuses([{ code: 'mapping_live', filingId: correction, allowDuplicate: '1=REASON' }], reference, rows);
    }
    // Beside the holder that was named it passes, and beside no other.
    const permitted = [{ row: 1, reason: 'two invoices' }];
    const second = await open(ledger, 'ORIGINAL-AGAIN', rows, { permitted });
    await refuses([{ filingId: second }], 'ORIGINAL-THIRD', rows, { permitted });
  });

  it('continues through a later number, found by mapping and otherwise by serial number', async () => {
    const rows = newRows(2);
    const first = await open(ledger, 'LATER-N', rows);
    await freed(first, 'rejected');
    const [a, b] = rows as [MappingRow, MappingRow];
    const swapped = [
      { ...b, mapping: { ...b.mapping, serialNo: 1 } },
      { ...a, mapping: { ...a.mapping, serialNo: 2, mappedIRMAmountFCC: 9 } },
    ];
    const second = await open(ledger, 'LATER-N', swapped, { n: 2 });
    await refuses([{ filingId: second }], 'LATER-N-A', [a]);
    await refuses([{ filingId: second }], 'LATER-N-B', [b]);
    // Its own rows are free of each other: one that is freed frees what it holds, and no more.
    await settle(second, 'errored', 1);
    await refuses([{ filingId: second }], 'LATER-N-B', [b]);
    await opens('LATER-N-A', [a]);
  });

  it('whose row turns out to be sent after all is not taken over, and stops what took it over', async () => {
    const rows = newRows();
    const original = await open(ledger, 'REVIVED', rows);
    await freed(original, 'needs_correction');
    const refused = await open(ledger, 'REVIVED', amended(rows, 3), { n: 2, corrects: original });
    await freed(refused, 'needs_correction');
    const correction = await open(ledger, 'REVIVED', amended(rows, 4), { n: 3, corrects: original });
    const revived = { filingId: refused, submission: 1, sentAt: NOW, at: NOW };
    await withTransaction(ledger.pool, (client) => holdAsSent(client, revived));
    expect(await readRows(ledger.pool, correction)).toMatchObject([{ state: 'needs_correction' }]);
    for (const more of [amended(rows, 5), rows]) {
      await refuses([{ code: 'not_correctable', filingId: refused }], 'REVIVED', more, { n: 4, corrects: original });
    }
    await refuses([{ filingId: refused }], 'REVIVED-X', rows);
    await refuses([{ filingId: refused }], 'REVIVED-Y', amended(rows, 4));
  });

  it('asks for a correction once: whoever took the rows over asks, and no earlier filing', async () => {
    const attention = async (...filings: string[]) =>
      Promise.all(filings.map(async (each) => (await needFiling(ledger.pool, each)).needsAttention));
    const rows = newRows();
    const first = await open(ledger, 'ASKS', rows);
    await freed(first, 'rejected');
    const second = await open(ledger, 'ASKS', amended(rows, 3), { n: 2, corrects: first });
    await freed(second, 'needs_correction');
    expect(await attention(first, second)).toEqual([true, true]);
    const third = await open(ledger, 'ASKS', amended(rows, 4), { n: 3 });
    expect(await attention(first, second)).toEqual([false, false]);
    await freed(third, 'needs_correction');
    expect(await attention(first, second)).toEqual([true, true]);
    const other = await open(ledger, 'ASKS', amended(rows, 5), { n: 4, corrects: first });
    await settle(other, 'certified');
    expect(await attention(first, second, third)).toEqual([false, false, false]);
  });

  it('is one client’s, and under one reference', async () => {
    const rows = newRows();
    const original = await open(ledger, 'ONE-REFERENCE', rows);
    await freed(original, 'rejected');
    await refuses([{ code: 'not_correctable' }], 'ANOTHER-REFERENCE', rows, { corrects: original });
    await knowExporter(ledger, 'exporter-3', 'AAGCM4523K');
    await refuses([{ code: 'exporter_differs', filingId: original }], 'ONE-REFERENCE', rows, {
      n: 2,
      exporterId: 'exporter-3',
    });
  });

  it('is filed once by concurrent corrections, under the locks of every IRM of it', async () => {
    const rows = newRows();
    const original = await open(ledger, 'RACING', rows);
    await freed(original, 'rejected');
    const outcomes = await Promise.all([
      record(ledger, 'RACING', amended(rows, 3), { n: 2, corrects: original }),
      record(ledger, 'RACING', amended(rows, 4), { n: 2, corrects: original }),
      record(ledger, 'RACING-ALONE', rows),
    ]);
    expect(outcomes.filter(({ outcome }) => outcome === 'opened')).toHaveLength(1);
  });
});

describe('errored rows of a filing', () => {
  async function partly(reference: string) {
    const rows = newRows(3);
    const parent = await open(ledger, reference, rows);
    await settle(parent, 'certified', 0);
    await settle(parent, 'errored', 1);
    await settle(parent, 'errored', 2);
    await move(ledger, parent, 'submitting', 'processing', 'collecting', 'partly_certified');
    return { parent, rows };
  }
  const states = async (filingId: string) => (await readRows(ledger.pool, filingId)).map((row) => row.state);

  it('are taken over by the filing that corrects them, and by no other', async () => {
    const { parent, rows } = await partly('PARENT-1');
    const correction = { n: 2, corrects: parent };
    const child = await open(ledger, 'PARENT-1', rows.slice(1, 2), correction);
    expect(await states(parent)).toEqual(['certified', 'corrected', 'needs_correction']);
    expect((await readRows(ledger.pool, parent))[1]?.takenOverBy).toBe(child);
    // The mapping itself was not changed here: then the live row of the correction stands in the way as well.
    const changed = rows.slice(1, 2).map((row) => ({ ...row, mapping: { ...row.mapping, mappedIRMAmountFCC: 1 } }));
    await refuses([{ code: 'not_correctable', filingId: child }], 'PARENT-1', changed, { n: 3, corrects: parent });
  });

  it('are the only ones that may be corrected, and a refusal leaves nothing behind', async () => {
    const { parent, rows } = await partly('PARENT-2');
    const changed = rows.map((row) => ({ ...row, mapping: { ...row.mapping, mappedIRMAmountFCC: 2 } }));
    await refuses([{ code: 'not_correctable', row: 1 }], 'PARENT-2', changed, { n: 2, corrects: parent });
    expect(await states(parent)).toEqual(['certified', 'needs_correction', 'needs_correction']);
    expect(await ledger.select('SELECT 1 FROM filings WHERE corrects = $1', parent)).toEqual([]);
  });

  it('go back when nothing of the correction was sent', async () => {
    const { parent, rows } = await partly('PARENT-3');
    const child = await open(ledger, 'PARENT-3', rows.slice(1), { n: 2, corrects: parent });
    await releaseUnsent(ledger.pool, { filingId: child, state: 'withdrawn', at: NOW });
    expect(await states(parent)).toEqual(['certified', 'needs_correction', 'needs_correction']);
  });

  it('go back when the service refused the correction, and stay taken while part of it is live', async () => {
    const { parent, rows } = await partly('PARENT-4');
    const child = await open(ledger, 'PARENT-4', rows.slice(1), { n: 2, corrects: parent });
    await settle(child, 'certified', 0);
    await release(child);
    expect(await states(parent)).toEqual(['certified', 'corrected', 'corrected']);
    const { parent: other, rows: more } = await partly('PARENT-5');
    const refused = await open(ledger, 'PARENT-5', more.slice(1), { n: 2, corrects: other });
    await release(refused);
    expect(await states(other)).toEqual(['certified', 'needs_correction', 'needs_correction']);
  });
});

it('cuts more than 999 rows into submissions that number their rows from 1', async () => {
  const filingId = await open(ledger, 'MANY', newRows(1_000));
  expect(await readSubmissions(ledger.pool, filingId)).toMatchObject([
    { submission: 1, rowCount: 999, state: 'planned' },
    { submission: 2, rowCount: 1, state: 'planned' },
  ]);
  const [last] = await readRows(ledger.pool, filingId, 2);
  expect(last).toMatchObject({ position: 999, serialNo: 1, mapping: { serialNo: 1_000 } });
});
