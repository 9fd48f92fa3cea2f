import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrate } from '../../src/ledger/migrate';
import { useFolder } from '../support/folder';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres';

let databases: TestDatabase[] = [];
let folder: string;
useFolder((made) => (folder = made));

afterEach(async () => {
  await Promise.all(databases.map((database) => database.drop()));
  databases = [];
});

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  databases.push(database);
  return database;
}

it('applies every migration once, although twenty workers start together', async () => {
  await writeFile(join(folder, '001_first.sql'), 'CREATE TABLE first (n integer); INSERT INTO first VALUES (1);');
  await writeFile(join(folder, '002_second.sql'), 'SELECT pg_sleep(0.1); INSERT INTO first VALUES (2);');
  const { url, pool } = await emptyDatabase();
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(url, { folder })));
  expect(applied.flat()).toEqual(['001_first', '002_second']);
  const { rows } = await pool.query('SELECT n FROM first ORDER BY n');
  expect(rows).toEqual([{ n: 1 }, { n: 2 }]);
});

it('applies nothing of a set in which one fails, and lets the next start try again', async () => {
  await writeFile(join(folder, '001_first.sql'), 'CREATE TABLE first (n integer);');
  await writeFile(join(folder, '002_broken.sql'), 'CREATE TABLE first (n integer);');
  const { pool } = await emptyDatabase();
  await expect(migrate(pool, { folder })).rejects.toThrow(/already exists/);
  const { rows } = await pool.query(`SELECT to_regclass('first') AS found`);
  expect(rows).toEqual([{ found: null }]);
  await writeFile(join(folder, '002_broken.sql'), 'CREATE TABLE second (n integer);');
  await expect(migrate(pool, { folder })).resolves.toEqual(['001_first', '002_broken']);
});

it('refuses a migration that was slipped in before one that ran', async () => {
  await writeFile(join(folder, '002_second.sql'), 'CREATE TABLE second (n integer);');
  const { pool } = await emptyDatabase();
  await migrate(pool, { folder });
  await writeFile(join(folder, '001_first.sql'), 'CREATE TABLE first (n integer);');
  await expect(migrate(pool, { folder })).rejects.toThrow(/001_first is preceding already run migration 002_second/);
});

it('has nothing left to do on a database of the test template', async () => {
  const database = await createTestDatabase();
  databases.push(database);
  await expect(migrate(database.pool)).resolves.toEqual([]);
});

it('refuses a ledger that applied another text of a migration', async () => {
  const database = await createTestDatabase();
  databases.push(database);
  await database.pool.query("UPDATE schema_migrations SET sha256 = 'another' WHERE name = '001_ledger'");
  await expect(migrate(database.pool)).rejects.toThrow(/edited after this ledger had applied them: 001_ledger\. Use/);
  await database.pool.query('ALTER TABLE schema_migrations DROP COLUMN sha256');
  await expect(migrate(database.pool)).resolves.toEqual([]);
});
