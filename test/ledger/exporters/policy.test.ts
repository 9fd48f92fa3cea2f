/** The approval policy of an exporter. */
import { useTestDatabase } from '../../support/postgres';
import { principalOf } from '../../support/principals';
import { setApprovalPolicy } from '../../../src/ledger/exporters/policy';
import { withTransaction } from '../../../src/ledger/pool';
import { removePrincipal } from '../../../src/ledger/principals/principals';
import { knowCompany } from '../filings/decision-support';

const database = useTestDatabase(({ pool }) => knowCompany(pool));

const set = async (approval: 'required' | 'off', who: string | null, roles = ['admin'] as const) => {
  const { pool } = database;
  const principal = who === null ? undefined : await principalOf(pool, who, roles);
  return withTransaction(pool, (client) =>
    setApprovalPolicy(client, { exporterId: 'exporter-1', approval, by: 'a claim', ...(principal && { principal }) }),
  );
};

test('one person switches it on, two admins within a day switch it off', async () => {
  const { pool } = database;
  expect(await set('off', 'anna')).toBe('unchanged');
  expect(await set('required', null)).toBe('changed');
  expect(await set('required', 'anna')).toBe('unchanged');
  expect(await set('off', null)).toEqual({ refused: expect.stringContaining('two principals') });
  await principalOf(pool, 'viktor', ['viewer']);
  expect(await set('off', 'viktor')).toEqual({ refused: 'viktor is no admin of this exporter' });
  expect(await set('off', 'anna')).toBe('asked');
  expect(await set('off', 'anna')).toBe('asked');
  expect(await set('off', 'bert')).toBe('changed');
  // What was asked before the last change counts no more.
  expect(await set('required', 'anna')).toBe('changed');
  expect(await set('off', 'bert')).toBe('asked');
  await removePrincipal(pool, (await principalOf(pool, 'bert')).principalId);
  expect(await set('off', 'anna')).toBe('asked');
  const changes = await database.select(
    'SELECT approval, asked, second_id IS NOT NULL AS two FROM policy_changes ORDER BY change_id',
  );
  expect(changes.filter(({ asked }) => !asked)).toEqual([
    { approval: 'required', asked: false, two: false },
    { approval: 'off', asked: false, two: true },
    { approval: 'required', asked: false, two: false },
  ]);
});
