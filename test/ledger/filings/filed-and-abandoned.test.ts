/** Certificates and requests that persons name, and what is given up. */
import { useTestDatabase } from '../../support/postgres';
import { openFinding } from '../../../src/ledger/findings';
import { withTransaction } from '../../../src/ledger/pool';
import { lockFiling } from '../../../src/ledger/filings/lock';
import { issue, knowCompany, makeFiling, makeSent, say, standing, step, told } from './decision-support';

const database = useTestDatabase(({ pool }) => knowCompany(pool));

describe('certificates of rows', () => {
  const filed = (...certificates: { row: number; eBRCNumber: string }[]) => ({ kind: 'filed' as const, certificates });

  test('two persons have to name the same ones', async () => {
    const { pool } = database;
    const filing = await makeSent(pool, { rows: 2 });
    await issue(pool, 'C-1', { document: filing.document });
    const named = filed({ row: 2, eBRCNumber: 'C-1' });
    expect(told(await say(pool, filing, null, named))).toMatch(/^needs_token/);
    expect(told(await say(pool, filing, 'arun', named))).toMatch(/^recorded: somebody else/);
    expect(told(await say(pool, filing, 'bela', named))).toBe('carried_out');
    expect(await standing(pool, filing)).toMatchObject({ rows: ['certified', 'sent'], verdicts: ['accepted'] });
    const [row] = await database.select(
      'SELECT ebrc_number, ebrc_date, certified_by FROM filing_rows WHERE filing_id = $1 AND position = 0',
      filing.filingId,
    );
    expect(row).toEqual({ ebrc_number: 'C-1', ebrc_date: '01022026', certified_by: 'persons' });
  });

  test.each([
    ['the filing has no row 9', { row: 9, eBRCNumber: 'C-2' }],
    ['certificate C-404 was not read', { row: 2, eBRCNumber: 'C-404' }],
    ['certificate C-3 is of another document than row 2', { row: 2, eBRCNumber: 'C-3' }],
    ['certificate C-4 is Cancelled', { row: 2, eBRCNumber: 'C-4' }],
    ["certificate C-5 is another row's", { row: 2, eBRCNumber: 'C-5' }],
  ])('%s', async (why, named) => {
    const { pool } = database;
    const filing = await makeSent(pool);
    await pool.query('DELETE FROM certificates');
    await issue(pool, 'C-2', { document: filing.document });
    await issue(pool, 'C-3', { document: 'another' });
    await issue(pool, 'C-4', { document: filing.document, status: 'Cancelled' });
    await issue(pool, 'C-5', { document: filing.document });
    const other = await makeFiling(pool);
    await pool.query(
      `UPDATE filing_rows SET state = 'certified', ebrc_number = 'C-5', certified_by = 'record' WHERE filing_id = $1`,
      [other.filingId],
    );
    expect(told(await say(pool, filing, 'arun', filed(named)))).toContain(`resolve_refused: ${why}`);
    await pool.query(
      `UPDATE filing_rows SET state = 'released', ebrc_number = NULL, certified_by = NULL WHERE filing_id = $1`,
      [other.filingId],
    );
  });

  test('the record of its own request names it, whatever its details say', async () => {
    const { pool } = database;
    const filing = await makeSent(pool, { verdict: 'accepted', requestId: 'R-9' });
    await issue(pool, 'C-10', { document: 'misread' });
    await pool.query(
      `UPDATE filing_rows SET record_status = 'processed', record_number = 'C-10' WHERE filing_id = $1`,
      [filing.filingId],
    );
    await say(pool, filing, 'arun', filed({ row: 2, eBRCNumber: 'C-10' }));
    expect(told(await say(pool, filing, 'bela', filed({ row: 2, eBRCNumber: 'c-10' })))).toMatch(/^recorded/);
    expect(told(await say(pool, filing, 'bela', filed({ row: 2, eBRCNumber: 'C-10' })))).toBe('carried_out');
    expect((await standing(pool, filing)).rows).toEqual(['certified']);
  });

  test('what stands against sending is named as the row’s, and nothing of the file is sent', async () => {
    const { pool } = database;
    const free = await makeFiling(pool, { state: 'submitting' });
    await issue(pool, 'C-20', { document: free.document, amount: 1 });
    expect(told(await say(pool, free, 'arun', filed({ row: 2, eBRCNumber: 'C-20' })))).toMatch(
      /row 2 was not sent, and no certificate stands against/,
    );
    const filing = await makeFiling(pool, { rows: 2 });
    await issue(pool, 'C-21', { document: filing.document });
    await say(pool, filing, 'arun', filed({ row: 2, eBRCNumber: 'C-21' }));
    await say(pool, filing, 'bela', filed({ row: 2, eBRCNumber: 'C-21' }));
    expect((await standing(pool, filing)).rows).toEqual(['certified', 'released']);
  });
});

describe('a request', () => {
  const filed = (requestId: string) => ({ kind: 'filed' as const, requestId });

  test('one person names it, once, and nothing else follows', async () => {
    const { pool } = database;
    const filing = await makeSent(pool, { ageMs: 60_000 });
    expect(told(await say(pool, filing, null, filed(' REQ-1 ')))).toBe('carried_out');
    expect(await standing(pool, filing)).toMatchObject({ rows: ['sent'], verdicts: ['unknown'] });
    const [attempt] = await database.select(
      'SELECT request_id, request_from FROM attempts WHERE filing_id = $1',
      filing.filingId,
    );
    expect(attempt).toEqual({ request_id: 'REQ-1', request_from: 'person' });
    expect(told(await say(pool, filing, null, filed('REQ-2')))).toBe('resolve_refused: its request is known: REQ-1');
    const other = await makeSent(pool);
    expect(told(await say(pool, other, null, filed('req-1')))).toBe(
      `request_taken: request req-1 belongs to filing ${filing.filingId}`,
    );
  });

  test('not of what was not sent', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { state: 'submitting' });
    expect(told(await say(pool, filing, null, filed('REQ-3')))).toMatch(/^resolve_refused: no attempt/);
    expect(told(await say(pool, filing, null, { kind: 'filed' }))).toMatch(/^invalid_input/);
  });
});

describe('to abandon', () => {
  const abandon = { kind: 'abandon' as const, note: 'a wrong file' };

  test('its maker or a checker may, before a send', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { state: 'submitting', rows: 2 });
    expect(told(await say(pool, filing, 'kiran', abandon, { roles: ['maker'] }))).toMatch(/^role_missing/);
    expect(told(await say(pool, filing, 'meera', abandon))).toBe('carried_out');
    expect(await standing(pool, filing)).toMatchObject({ state: 'abandoned', rows: ['released', 'released'] });
    expect(told(await say(pool, filing, 'meera', abandon))).toMatch(/^filing_ended/);
    const other = await makeFiling(pool, { state: 'needs_credentials' });
    expect(told(await say(pool, other, 'arun', abandon))).toBe('carried_out');
    expect(told(await say(pool, await makeFiling(pool), null, abandon))).toBe('carried_out');
  });

  test('closes what was found of its delay', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { state: 'submitting' });
    for (const kind of ['filing_overdue', 'outcome_unknown', 'filing_without_workflow'] as const)
      await openFinding(pool, { mode: 'test', iec: 'AAGCM4520K', kind, subject: filing.filingId });
    expect(told(await say(pool, filing, 'arun', abandon))).toBe('carried_out');
    const open = 'SELECT kind FROM findings WHERE closed_at IS NULL AND position($1 IN key) > 0';
    expect(await database.select(open, filing.filingId)).toEqual([{ kind: 'filing_without_workflow' }]);
  });

  test.each(['sending', 'unknown', 'accepted'] as const)('not once an attempt is %s', async (verdict) => {
    const { pool } = database;
    const filing = await makeSent(pool, { verdict });
    expect(told(await say(pool, filing, 'arun', abandon))).toMatch(/^abandon_refused: attempt 1 may have arrived/);
    await pool.query(`UPDATE attempts SET verdict = 'not_sent' WHERE filing_id = $1`, [filing.filingId]);
    await pool.query(`UPDATE filing_rows SET state = 'planned' WHERE filing_id = $1`, [filing.filingId]);
    expect(told(await say(pool, filing, 'arun', abandon))).toBe('carried_out');
  });

  test('an attempt that begins at the same time is seen', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { state: 'submitting' });
    let abandoned: ReturnType<typeof say> | undefined;
    await withTransaction(pool, async (client) => {
      await lockFiling(client, filing.filingId);
      abandoned = say(pool, filing, 'arun', abandon);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await client.query(
        `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms)
         VALUES ($1, 1, 'test', 'exporter-1', 'sending', 'e', 1, 1, 1, 1)`,
        [filing.filingId],
      );
    });
    expect(told(await (abandoned as ReturnType<typeof say>))).toMatch(/^abandon_refused: attempt 1/);
  });
});

test('an ended filing is decided about no more, and what waited is void', async () => {
  const { pool } = database;
  const filing = await makeSent(pool, { evidence: ['certificate:E-1'] });
  await say(pool, filing, 'arun', { kind: 'not_filed' });
  await pool.query(`UPDATE filings SET state = 'certified', closed_at = now() WHERE filing_id = $1`, [filing.filingId]);
  await step(pool, filing);
  expect((await standing(pool, filing)).said).toEqual(['arun not_filed void']);
  expect(told(await say(pool, filing, 'bela', { kind: 'not_filed' }))).toMatch(/^filing_ended/);
});
