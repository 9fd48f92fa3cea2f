/** What is shown of a filing and of a whole reference. */
import { useTestDatabase } from '../../support/postgres';
import { actionsOf, waitingText } from '../../../src/domain/filing/view';
import { eventsPage, listFilings, markOf } from '../../../src/ledger/views/lists';
import { filingOfReference, findFiling, needFiling, standingsOf } from '../../../src/ledger/filings/filing';
import { rowsPage } from '../../../src/ledger/views/rows';
import { readFilingView, readReferenceView } from '../../../src/ledger/views/views';
import { issue, knowCompany, makeFiling, makeSent, say } from './decision-support';

const database = useTestDatabase(({ pool }) => knowCompany(pool));

test('a filing is found by id, workflow id, reference and reference#n', async () => {
  const { pool } = database;
  const first = await makeFiling(pool, { reference: 'AUG' });
  const second = await makeFiling(pool, { reference: 'AUG', n: 2 });
  const found = async (name: string) => (await findFiling(pool, 'test', name))?.filingId;
  expect(await found(first.filingId)).toBe(first.filingId);
  expect(await found('file/test/AUG/1')).toBe(first.filingId);
  expect(await found('AUG')).toBe(second.filingId);
  expect(await found('AUG#1')).toBe(first.filingId);
  expect(await found('AUG#3')).toBeUndefined();
  expect(await findFiling(pool, 'live', 'AUG')).toBeNull();
  expect((await filingOfReference(pool, { mode: 'test', reference: 'AUG', n: 1 }))?.n).toBe(1);
  expect((await filingOfReference(pool, { mode: 'test', reference: 'AUG', n: 7 }))?.n).toBe(2);
  await expect(needFiling(pool, 'F-none')).rejects.toThrow('Filing F-none is not in this ledger');
});

test('the whole reference has each row once, with what stands for it now', async () => {
  const { pool } = database;
  const first = await makeFiling(pool, { reference: 'SEP', rows: 3, state: 'rejected' });
  const second = await makeFiling(pool, { reference: 'SEP', n: 2, rows: 1, state: 'processing' });
  await issue(pool, 'V-1', { document: first.document });
  await pool.query(
    `UPDATE filing_rows SET state = 'certified', ebrc_number = 'V-1', certified_by = 'record' WHERE filing_id = $1 AND position = 0`,
    [first.filingId],
  );
  await pool.query(
    `UPDATE filing_rows SET state = 'rejected', errors = '["ERR29: port"]' WHERE filing_id = $1 AND position > 0`,
    [first.filingId],
  );
  await pool.query(`UPDATE filing_rows SET corrected_by = $2 WHERE filing_id = $1 AND position = 1`, [
    first.filingId,
    second.filingId,
  ]);
  await pool.query(`UPDATE filing_rows SET mapping = jsonb_set(mapping, '{serialNo}', '2') WHERE filing_id = $1`, [
    second.filingId,
  ]);
  const whole = await readReferenceView(pool, { mode: 'test', reference: 'SEP' });
  expect(whole?.filingId).toBe(second.filingId);
  const named = (rows: readonly { serialNo: number; n: number; state: string }[]) =>
    rows.map(({ serialNo, n, state }) => `${serialNo} of #${n}: ${state}`);
  const all = ['1 of #1: certified', '2 of #2: planned', '3 of #1: rejected'];
  expect(named(whole?.rows ?? [])).toEqual(all);
  expect(whole?.counts).toEqual({ rows: 3, certified: 1, archived: 0, errored: 1, corrected: 0, open: 1 });
  expect(whole?.errors).toEqual([expect.objectContaining({ row: 4, message: 'ERR29: port' })]);
  const alone = await readFilingView(pool, first.filingId);
  expect(alone?.counts).toEqual({ rows: 3, certified: 1, archived: 0, errored: 2, corrected: 1, open: 0 });
  expect(alone?.actions).toEqual(['correct']);
  // Page by page.
  const scope = { mode: 'test' as const, reference: 'SEP', n: null };
  const one = await rowsPage(pool, { ...scope, limit: 2 });
  const two = await rowsPage(pool, { ...scope, limit: 2, after: one.next ?? '' });
  expect([named([...one.items, ...two.items]), two.next]).toEqual([all, null]);
  const rejected = await rowsPage(pool, { ...scope, limit: 2, state: 'rejected' });
  expect(named(rejected.items)).toEqual(['3 of #1: rejected']);
  // A row that a late certificate holds again is shown beside its correction.
  await pool.query(`UPDATE filing_rows SET state = 'sent' WHERE filing_id = $1 AND position = 1`, [first.filingId]);
  expect(named((await rowsPage(pool, { ...scope, limit: 9 })).items)).toContain('2 of #1: sent');
});

test('what was found, what was decided and what may be done', async () => {
  const { pool } = database;
  const filing = await makeSent(pool, { evidence: ['certificate:V-9'] });
  await pool.query(`UPDATE filings SET asked = true, attention = 'look' WHERE filing_id = $1`, [filing.filingId]);
  await pool.query(
    `UPDATE attempts SET balances = jsonb_build_object($2::text, '{"available": "10", "readAt": "2026-02-10T05:00:00.5+05:30"}'::jsonb) WHERE filing_id = $1`,
    [
      filing.filingId,
      (await database.select('SELECT irm_key FROM filing_rows WHERE filing_id = $1', filing.filingId))[0]?.irm_key,
    ],
  );
  await say(pool, filing, 'arun', { kind: 'not_filed', note: 'not in the portal' });
  const view = await readFilingView(pool, filing.filingId);
  expect(view).toMatchObject({
    ...{ attempt: 1, asked: true, needsAttention: true, actions: ['resolve'] },
    attempts: [{ number: 1, verdict: 'unknown', requestId: null }],
    evidence: {
      attempt: 1,
      names: ['certificate:V-9'],
      balances: [{ before: '10', beforeAt: '2026-02-09T23:30:00.500Z', now: null }],
    },
    decisions: [
      {
        by: 'arun',
        principal: true,
        kind: 'not_filed',
        shown: ['certificate:V-9'],
        note: 'not in the portal',
        outcome: null,
      },
    ],
  });
  const { items, next } = await eventsPage(pool, { mode: 'test', reference: filing.reference, n: null, limit: 10 });
  expect([items.map(({ kind, who }) => [kind, who]), next]).toEqual([[['said_not_filed', 'arun']], null]);
  const waits = await makeFiling(pool);
  await issue(pool, 'V-20', { document: waits.document });
  const approval = await readFilingView(pool, waits.filingId);
  expect(approval?.evidence).toMatchObject({ attempt: null, names: ['certificate:V-20'] });
  expect(approval?.evidence?.entries[0]?.text).toContain(`certificate V-20 of document ${waits.document}, 8000 USD`);
  expect(approval?.actions).toEqual(['approve', 'resolve', 'abandon']);
});

test('lists are filtered, searched and continued', async () => {
  const { pool } = database;
  await pool.query('DELETE FROM filings');
  const made = [];
  for (const state of ['processing', 'processing', 'certified'])
    made.push(await makeFiling(pool, { state, reference: `OCT-${made.length}` }));
  await pool.query(`UPDATE filings SET closed_at = now() WHERE state = 'certified'`);
  await pool.query(`UPDATE filings SET due_at = now() - interval '1 min' WHERE filing_id = $1`, [made[0]?.filingId]);
  const list = async (filter: object) =>
    (await listFilings(pool, { mode: 'test', limit: 10, ...filter })).map(({ reference }) => reference);
  expect(await list({})).toEqual(['OCT-2', 'OCT-1', 'OCT-0']);
  expect(await list({ states: ['processing'] })).toEqual(['OCT-1', 'OCT-0']);
  expect(await list({ attention: true })).toEqual(['OCT-0']);
  expect(await list({ attention: false })).toEqual(['OCT-2', 'OCT-1']);
  expect(await list({ exporters: ['exporter-2'] })).toEqual([]);
  expect(await list({ exporterId: 'EXPORTER-1', search: 'ct-2' })).toEqual(['OCT-2']);
  const [first] = await listFilings(pool, { mode: 'test', limit: 1 });
  expect(await list({ after: first?.mark })).toEqual(['OCT-1', 'OCT-0']);
  expect(first?.mark).toEqual(await markOf(pool, first?.filingId ?? ''));
  const [overdue] = await listFilings(pool, { mode: 'test', attention: true, limit: 1 });
  expect([overdue?.actions, overdue?.counts.open]).toEqual([['abandon', 'resume'], 1]);
  expect(waitingText(overdue?.waiting ?? (undefined as never), (at) => at.slice(0, 4))).toMatch(
    /^the acknowledgement of the authority, since \d{4}; at the latest \d{4}$/,
  );
  expect(await standingsOf(pool, [made[1]?.filingId ?? ''])).toEqual([
    { filingId: made[1]?.filingId, state: 'processing', asked: false, moves: 1, closed: false },
  ]);
});

test('an abandoned or ended filing has no action but a correction', () => {
  const standing = {
    closed: true,
    asked: false,
    approval: null,
    approved: false,
    pause: null,
    unsent: true,
    overdue: true,
    runProblem: false,
  };
  expect(actionsOf({ ...standing, state: 'abandoned', correctable: true })).toEqual(['correct']);
  expect(actionsOf({ ...standing, state: 'certified', unsent: false, correctable: false })).toEqual([]);
});
