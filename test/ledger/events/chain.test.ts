/** A filing's events are chained by hash, and what was changed afterwards shows by the documented check. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { placeEvents, readFeed } from '../../../src/ledger/events';
import { getFiling } from '../../../src/ledger/filings/filing';
import { lockFiling } from '../../../src/ledger/filings/lock';
import { addEvent, moveFiling } from '../../../src/ledger/filings/move';
import { withTransaction } from '../../../src/ledger/pool';
import { evidenceBundle } from '../../../src/starter/filings/evidence';
import { readProject } from '../../boundary/project';
import { testFolder } from '../../support/folder';
import { useTestDatabase } from '../../support/postgres';
import { contentsOfZip } from '../../support/zips';
import { knowCompany, makeFiling } from '../filings/decision-support';

const ledger = useTestDatabase();
const folder = testFolder();
const documents = { exists: () => Promise.resolve(false) } as never;

/** What the documented check prints of a filing's bundle. */
async function checked(filingId: string, into: string) {
  const filing = await getFiling(ledger.pool, filingId);
  const { zip } = await evidenceBundle({ pool: ledger.pool, mode: 'test', documents }, filing!);
  const files = await contentsOfZip(await buffer(zip));
  const cwd = join(folder, into);
  await mkdir(cwd);
  for (const [name, bytes] of files) if (!name.includes('/')) await writeFile(join(cwd, name), bytes);
  const [, script = ''] = /```sh\n(sha256sum[^`]*)```/u.exec(readProject('docs/reliability.md')) ?? [];
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd });
  const lines = files.get('events.chain')!.toString().trimEnd().split('\n');
  return {
    printed: stdout,
    hashes: lines.map((line) => line.slice(0, 64)),
    about: files.get('about.json')!.toString(),
  };
}

it('chains what happened to a filing, tells the hashes, and shows a change', async () => {
  await knowCompany(ledger.pool);
  const { filingId } = await makeFiling(ledger.pool, { state: 'checking' });
  await withTransaction(ledger.pool, async (client) => {
    const filing = await lockFiling(client, filingId);
    const event = { kind: 'note', text: 'a line with "quotes", a\nbreak and ₹', detail: { amount: '10.50' } };
    await addEvent(client, filing, event);
    await moveFiling(client, filing, { state: 'submitting', event: { kind: 'submitting', text: 'it goes' } });
  });
  while ((await placeEvents(ledger.pool)) !== 0);
  const sound = await checked(filingId, 'sound');
  expect(sound.printed).toBe('');
  expect(JSON.parse(sound.about)).toMatchObject({ unchained: 0, contents: { 'events.chain': expect.any(String) } });
  const page = await readFeed(ledger.pool, { mode: 'test', exporters: null, limit: 100 });
  const told = 'events' in page ? page.events.filter(({ data }) => data['filingId'] === filingId) : [];
  expect(told.length).toBeGreaterThan(0);
  expect(sound.hashes).toEqual(expect.arrayContaining(told.map(({ data }) => data['chain'])));

  const change = `UPDATE events SET text = 'it went' WHERE filing_id = $1 AND kind = 'submitting'`;
  await expect(ledger.pool.query(change, [filingId])).rejects.toThrow(/append-only/u);
  await expect(ledger.pool.query(`UPDATE events SET hash = '\\x00' WHERE filing_id = $1`, [filingId])).rejects.toThrow(
    /append-only/u,
  );
  await ledger.pool.query('ALTER TABLE events DISABLE TRIGGER events_unchanged');
  await ledger.pool.query(change, [filingId]);
  expect((await checked(filingId, 'changed')).printed).toMatch(/^changed: .*it went.*\n$/u);
});
