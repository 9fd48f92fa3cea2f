import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/ledger/migrate';
import { useFolder } from '../support/folder';
import { createEmptyDatabase, useTestDatabase, type TestDatabase } from '../support/postgres';

const ledger = useTestDatabase();

describe('migrations', () => {
  let empty: TestDatabase;
  let folder: string;
  useFolder((made) => (folder = made));
  beforeEach(async () => {
    empty = await createEmptyDatabase();
  });
  afterEach(() => empty.drop());
  const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.sql`), text);
  const apply = () => migrate(empty.url, { folder });

  it('are each applied once, although twenty workers start together', async () => {
    write('001_first', 'CREATE TABLE first (n integer); INSERT INTO first VALUES (1);');
    write('002_second', 'SELECT pg_sleep(0.1); INSERT INTO first VALUES (2);');
    const applied = await Promise.all(Array.from({ length: 20 }, apply));
    expect(applied.flat()).toEqual(['001_first', '002_second']);
    expect(await empty.select('SELECT n FROM first ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('of which one fails are applied not at all, and tried again by the next start', async () => {
    for (const name of ['001_first', '002_broken']) write(name, 'CREATE TABLE first (n integer);');
    await expect(apply()).rejects.toThrow(/already exists/);
    expect(await empty.select(`SELECT to_regclass('first') AS found`)).toEqual([{ found: null }]);
    write('002_broken', 'CREATE TABLE second (n integer);');
    await expect(apply()).resolves.toEqual(['001_first', '002_broken']);
  });

  it('are refused where one was slipped in before one that ran', async () => {
    write('002_second', 'CREATE TABLE second (n integer);');
    await apply();
    write('001_first', 'CREATE TABLE first (n integer);');
    await expect(apply()).rejects.toThrow(/001_first is preceding already run migration 002_second/);
  });

  it('leave nothing to do afterwards, and are refused of a ledger that applied another text', async () => {
    await expect(migrate(ledger.pool)).resolves.toEqual([]);
    await ledger.pool.query("UPDATE schema_migrations SET sha256 = 'another' WHERE name = '001_ledger'");
    await expect(migrate(ledger.pool)).rejects.toThrow(/edited after this ledger had applied them: 001_ledger\. Use/);
    await ledger.pool.query('ALTER TABLE schema_migrations DROP COLUMN sha256');
    await expect(migrate(ledger.pool)).resolves.toEqual([]);
  });
});
