/** `ebrc ledger`: what it says of a ledger that went back. */
import { join } from 'node:path';
import type { CheckResult } from '../../src/starter/doctor/doctor';
import type { LedgerStatus } from '../../src/ledger/went-back';
import { existsSync } from 'node:fs';
import { createDocumentStore } from '../../src/documents/document-store';
import { doubtLedger, readLedgerTime } from '../../src/ledger/time';
import { ebrc } from '../support/command-line';
import { testFolder } from '../support/folder';
import { useTestDatabase } from '../support/postgres';

const ledger = useTestDatabase();
const folder = testFolder();

it('says that a ledger went back, and what a person can do about it', async () => {
  const env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test' };
  const run = async (...args: string[]) => {
    const { code, stdout } = await ebrc(['ledger', ...args, '--json'], { env });
    return { code, status: JSON.parse(stdout) as LedgerStatus };
  };
  expect(await run('status')).toMatchObject({ code: 0, status: { state: 'whole', missing: [] } });
  const { epoch } = await readLedgerTime(ledger.pool, 'test');
  expect(await doubtLedger(ledger.pool, epoch)).toBe(true);
  const back = await run('status');
  expect(back).toMatchObject({ code: 4, status: { state: 'recovering', missing: [{ filingId: null }] } });
  for (const wrong of [[], ['--since', 'yesterday'], ['--since', '2999-01-01T00:00:00Z', '--by', 'ravi']])
    expect((await ebrc(['ledger', 'restored', ...wrong], { env })).code).toBe(2);
  expect(await run('restored', '--nothing-lost', '--by', 'ravi')).toMatchObject({
    code: 0,
    status: { state: 'whole', missing: [] },
  });
  const help = await ebrc(['ledger', 'restored', '--help'], { env });
  expect(help.stdout).toContain('ebrc ledger restored --since');
});

it('refuses a store that is not the ledger’s, and makes none', async () => {
  const elsewhere = join(folder, 'elsewhere');
  await createDocumentStore({ root: elsewhere }).claim('another');
  const env = { DATABASE_URL: ledger.url, EBRC_DOCUMENTS: elsewhere, EBRC_MODE: 'test' };
  const listed = await ebrc(['list', '--json'], { env });
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringMatching(/shown by name.*elsewhere/u) as string });
  const copied = await ebrc(['certificates', '--pdfs', join(elsewhere, 'pdfs'), '--json'], { env });
  expect(copied).toMatchObject({ code: 2, stdout: expect.stringContaining('other_documents') as string });
  const { stdout } = await ebrc(['doctor', '--json'], { env, connectWithinMs: 100 });
  expect((JSON.parse(stdout) as CheckResult[]).find(({ check }) => check === 'documents')).toMatchObject({ ok: false });
  expect(existsSync(join(elsewhere, 'pdfs'))).toBe(false);
});
