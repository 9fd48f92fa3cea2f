/** Who may approve a filing, and how many persons it takes. */
import { useTestDatabase } from '../../support/postgres';
import { principalOf } from '../../support/principals';
import { decide } from '../../../src/ledger/decisions/decide';
import { removePrincipal } from '../../../src/ledger/principals/principals';
import { daysAgo, issue, knowCompany, makeFiling, makeSent, say, standing, step, told } from './decision-support';

const database = useTestDatabase(({ pool }) => knowCompany(pool));
const approve = { kind: 'approve' as const };

describe('an approval by policy', () => {
  test('takes one checker who is not the maker', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'policy' });
    expect(told(await say(pool, filing, 'meera', approve))).toMatch(/^maker_approves: meera made this filing/);
    expect(told(await say(pool, filing, 'arun', approve))).toBe('carried_out');
    expect(await standing(pool, filing)).toMatchObject({ approved: true, said: ['arun approve carried_out'] });
    expect(told(await say(pool, filing, 'bela', approve))).toBe('approve_refused: nothing is to be approved any more');
  });

  test('a claimed name approves nothing', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'duplicate' });
    expect(told(await say(pool, filing, null, approve))).toMatch(/^needs_token/);
  });

  test('takes the role, the scope, and a principal that still is one', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'policy' });
    expect(told(await say(pool, filing, 'vijay', approve, { roles: ['viewer', 'maker'] }))).toBe(
      'role_missing: vijay has viewer, maker; this needs checker',
    );
    const other = await principalOf(pool, 'omar', ['checker'], ['exporter-2']);
    expect(told(await say(pool, filing, 'omar', approve))).toMatch(/^unknown_filing/);
    await removePrincipal(pool, other.principalId);
    const decided = await decide(
      pool,
      { filingId: filing.filingId, by: { principal: other, name: 'omar' }, ...approve },
      { settleAfterMs: 1, singlePerson: false },
    );
    expect(told(decided)).toMatch(/^unauthorized/);
    const audit = await database.select(
      `SELECT outcome, code FROM audit_events WHERE subject = $1 ORDER BY audit_id`,
      filing.filingId,
    );
    expect(audit.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['refused', 'role_missing'],
      ['refused', 'unknown_filing'],
      ['refused', 'unauthorized'],
    ]);
  });

  test('a filing that no principal made takes two checkers', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'policy', maker: null });
    expect(told(await say(pool, filing, 'arun', approve))).toBe(
      'recorded: somebody else than arun has to say the same',
    );
    expect(told(await say(pool, filing, 'arun', approve))).toMatch(/^said_already/);
    expect((await standing(pool, filing)).approved).toBe(false);
    expect(told(await say(pool, filing, 'bela', approve))).toBe('carried_out');
    expect(await standing(pool, filing)).toMatchObject({ approved: true });
  });

  test('one removed since does not count', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'policy', maker: null });
    await say(pool, filing, 'gone', approve);
    await removePrincipal(pool, (await principalOf(pool, 'gone')).principalId);
    expect(told(await say(pool, filing, 'arun', approve))).toMatch(/^recorded/);
    const { said, approved } = await standing(pool, filing);
    expect([approved, said]).toEqual([false, ['gone approve void', 'arun approve waits']]);
    // Added again, the principal is the same one, and what it said before its removal stays void.
    await principalOf(pool, 'gone');
    await step(pool, filing);
    expect((await standing(pool, filing)).approved).toBe(false);
  });

  test('is for a filing that waits for one', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'policy', state: 'checking' });
    expect(told(await say(pool, filing, 'arun', approve))).toBe(
      'approve_refused: it does not wait for an approval: it is checking',
    );
    const sent = await makeSent(pool, { state: 'outcome_unknown' });
    expect(told(await say(pool, sent, 'arun', approve))).toMatch(/^approve_refused/);
  });
});

describe('where there is one person', () => {
  const single = { singlePerson: true };

  test('the maker approves a day after it was made', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'policy' });
    expect(told(await say(pool, filing, 'meera', approve, single))).toMatch(/^maker_approves: .* a day after/);
    await pool.query(`UPDATE filings SET made_at = made_at - interval '1 day' WHERE filing_id = $1`, [filing.filingId]);
    expect(told(await say(pool, filing, 'meera', approve))).toMatch(/^maker_approves/);
    expect(told(await say(pool, filing, 'meera', approve, single))).toBe('carried_out');
  });

  test('both words of one principal are a day apart', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool, { approval: 'policy', maker: null });
    expect(told(await say(pool, filing, 'arun', approve, single))).toBe(
      'recorded: arun has to say the same again, a day later',
    );
    expect(told(await say(pool, filing, 'arun', approve, single))).toMatch(/^said_already/);
    await daysAgo(pool, 1);
    expect(told(await say(pool, filing, 'arun', approve))).toMatch(/^said_already/);
    expect(told(await say(pool, filing, 'arun', approve, single))).toBe('carried_out');
    expect((await standing(pool, filing)).approved).toBe(true);
  });
});

describe('what stands against sending', () => {
  test('takes two persons who were shown it, neither the maker, and is passed over then', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool);
    await issue(pool, 'E-1', { document: filing.document });
    expect(told(await say(pool, filing, 'meera', approve))).toMatch(/^maker_approves/);
    expect(told(await say(pool, filing, 'arun', approve))).toMatch(/^recorded/);
    expect(await standing(pool, filing)).toMatchObject({ approved: false, evidence: [] });
    expect(told(await say(pool, filing, 'bela', approve))).toBe('carried_out');
    expect(await standing(pool, filing)).toMatchObject({ approved: true, evidence: ['certificate:E-1'] });
    expect(told(await say(pool, filing, 'bela', approve))).toMatch(/^approve_refused/);
  });

  test('what is found after the first word voids it', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool);
    await issue(pool, 'E-2', { document: filing.document });
    await say(pool, filing, 'arun', approve);
    await issue(pool, 'E-3', { document: filing.document });
    expect(told(await say(pool, filing, 'bela', { ...approve, shown: ['certificate:E-2'] }))).toBe(
      'approve_refused: look at it again, this was found since: certificate:E-3',
    );
    expect(told(await say(pool, filing, 'bela', approve))).toMatch(/^recorded/);
    expect((await standing(pool, filing)).said).toEqual(['arun approve void', 'bela approve waits']);
    expect(told(await say(pool, filing, 'arun', approve))).toBe('carried_out');
    expect((await standing(pool, filing)).evidence).toEqual(['certificate:E-2', 'certificate:E-3']);
  });

  test('certificates that could not be read for a settle time are evidence too', async () => {
    const { pool } = database;
    const filing = await makeFiling(pool);
    await pool.query('DELETE FROM readings');
    await pool.query(
      `INSERT INTO readings (mode, iec, exporter_id, began_at, ended_at, from_date, to_date, whole)
       VALUES ('test', 'AAGCM4521K', 'exporter-1', clock_timestamp() - interval '5 h', clock_timestamp(), current_date, current_date, false)`,
    );
    expect(told(await say(pool, filing, 'arun', approve))).toMatch(/^recorded/);
    expect(told(await say(pool, filing, 'bela', approve))).toBe('carried_out');
    expect((await standing(pool, filing)).evidence).toEqual(['reading:none']);
    expect(told(await say(pool, filing, 'arun', approve))).toMatch(/^approve_refused/);
    // It holds as long as a reading does.
    await pool.query('UPDATE filings SET unread_until = clock_timestamp() WHERE filing_id = $1', [filing.filingId]);
    expect(told(await say(pool, filing, 'arun', approve))).toMatch(/^recorded/);
    await pool.query('DELETE FROM readings');
  });
});
