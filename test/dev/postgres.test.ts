import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../dev/postgres';
import { eventually, isAlive } from '../support/processes';
import { useFolder } from '../support/folder';

let folder: string;
useFolder((made) => (folder = made));

async function query(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows;
}

it('keeps its data from one start to the next, in UTF-8 and UTC', async () => {
  const first = await startEmbeddedPostgres({ folder });
  const url = await first.createDatabase('ebrc');
  await query(url, `CREATE TABLE kept AS SELECT '₹'::text AS sign`);
  expect(await first.createDatabase('ebrc')).toBe(url);
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);

  const second = await startEmbeddedPostgres({ folder });
  expect(await query(second.urlOf('ebrc'), `SELECT sign, current_setting('TimeZone') AS zone FROM kept`)).toEqual([
    { sign: '₹', zone: 'UTC' },
  ]);
  await second.stop();
});

it('is started again where it ends by itself, at the same address', async () => {
  const said: string[] = [];
  const server = await startEmbeddedPostgres({ folder, temporary: true, log: (message) => said.push(message) });
  const pidFile = await readFile(join(server.folder, 'data', 'postmaster.pid'), 'utf8');
  process.kill(Number(pidFile.split('\n', 1)[0]), 'SIGKILL');
  await eventually(() => said.length > 0);
  await eventually(() => query(server.urlOf('postgres'), 'SELECT 1').then(Boolean, () => false));
  expect(said[0]).toBe('The embedded PostgreSQL has ended; it is started again in 1 s …');
  await server.stop();
});

it('lets nobody in without the password of this folder', async () => {
  const server = await startEmbeddedPostgres({ folder, temporary: true });
  const guessed = new URL(server.urlOf('postgres'));
  guessed.password = 'password';
  await expect(query(guessed.toString(), 'SELECT 1')).rejects.toThrow(/password authentication failed/);
  await server.stop();
});
