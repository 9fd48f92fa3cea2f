import { readdir } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { loadConfig } from '../../src/config/config';
import { environmentFor } from '../../dev/environment';
import { migrate } from '../../src/ledger/migrate';
import { createPool } from '../../src/ledger/pool';
import { readKept, writeKept } from '../../dev/local';
import { startStack, type Stack } from '../../dev/stack';
import { isAlive } from '../support/processes';
import { useFolder } from '../support/folder';

let folder: string;

useFolder((made) => (folder = made));

async function tablesOf({ databaseUrl }: Stack): Promise<number> {
  const pool = createPool({ url: databaseUrl });
  const { rowCount } = await pool.query('SELECT FROM schema_migrations');
  await pool.end();
  return rowCount ?? 0;
}

it('starts both servers, passes their addresses to child processes, keeps the data until a fresh start, and stops everything', async () => {
  const said: string[] = [];
  const first = await startStack({ folder, log: (message) => said.push(message) });
  const { databaseUrl, temporal } = loadConfig(environmentFor(first.env), { need: ['database', 'temporal'] });
  expect([databaseUrl, temporal.address]).toEqual([first.databaseUrl, first.temporal.address]);
  expect(said).toHaveLength(2);
  const applied = await migrate(first.databaseUrl);
  const kept = { encryptionKey: 'key', token: 'token', ports: { ...first.ports, codec: 1, sandbox: 2, httpApi: 3 } };
  await writeKept(folder, kept);
  await Promise.all([first.stop(), first.stop()]);
  expect(isAlive(first.temporal.pid)).toBe(false);

  // `npm run dev` goes on with it.
  expect(await readKept(folder, true)).toEqual(kept);
  const second = await startStack({ folder, lastPorts: first.ports });
  expect(await tablesOf(second)).toBe(applied.length);
  // The variables of another terminal, and a bookmark of the UI, go on working.
  expect([second.env, second.temporal.uiUrl]).toEqual([first.env, first.temporal.uiUrl]);
  await second.stop();
  // And with --fresh nothing is left of it.
  expect(await readKept(folder, false)).toBeNull();
  await expect(readdir(folder)).rejects.toThrow('ENOENT');
});

it('uses the PostgreSQL that it is given, and other ports where those of the last start are taken', async () => {
  const databaseUrl = 'postgres://somebody@127.0.0.1:1/else';
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const temporal = { port, uiPort: port, httpPort: port };
  const stack = await startStack({ folder, databaseUrl, lastPorts: { postgres: null, temporal } });
  expect(stack.env['DATABASE_URL']).toBe(databaseUrl);
  expect(Object.values(stack.ports.temporal)).not.toContain(port);
  await stack.stop();
  other.close();
});
