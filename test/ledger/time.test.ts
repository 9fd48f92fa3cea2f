import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres, type EmbeddedServer } from '../../dev/postgres';
import { closeFinding, openFinding } from '../../src/ledger/findings';
import { migrate } from '../../src/ledger/migrate';
import { createPool, withTransaction } from '../../src/ledger/pool';
import { doubtLedger, NOT_COMPARED, raiseBeat, readLedgerTime, renewEpoch, wentBackSince } from '../../src/ledger/time';
import { testFolder } from '../support/folder';
import { useTestDatabase } from '../support/postgres';
import { recordFilingByHand } from '../support/recorded-filing';

describe('the time of a ledger', () => {
  const ledger = useTestDatabase();
  const now = () => readLedgerTime(ledger.pool, 'test');

  it('is whole when the ledger is made', async () => {
    expect(await now()).toMatchObject({ beat: 1, whole: true });
  });

  it('has its beat raised by one of all workers, and again once it is due', async () => {
    await ledger.pool.query(`UPDATE ledger SET beat = 1, beat_at = clock_timestamp() - interval '1 min'`);
    const raised = await Promise.all(Array.from({ length: 8 }, () => raiseBeat(ledger.pool, 60_000)));
    expect(Math.max(...raised.map(({ beat }) => beat))).toBe(2);
    expect(await raiseBeat(ledger.pool, 60_000)).toMatchObject({ beat: 2 });
    await ledger.pool.query(`UPDATE ledger SET beat_at = clock_timestamp() - interval '58 s'`);
    expect(await raiseBeat(ledger.pool, 60_000)).toMatchObject({ beat: 3 });
  });

  it('goes on when the clock of PostgreSQL was set back', async () => {
    const { beat } = await now();
    await ledger.pool.query(`UPDATE ledger SET beat_at = clock_timestamp() + interval '3 h'`);
    expect(await raiseBeat(ledger.pool, 60_000)).toMatchObject({ beat: beat + 1 });
    expect(await raiseBeat(ledger.pool, 60_000)).toMatchObject({ beat: beat + 1 });
  });

  it('sends nothing while something of its mode is known to be missing', async () => {
    const lost = { mode: 'test', iec: null, kind: 'ledger_went_back', subject: 'run/1' } as const;
    await openFinding(ledger.pool, lost);
    expect(await now()).toMatchObject({ whole: false });
    expect(await readLedgerTime(ledger.pool, 'live')).toMatchObject({ whole: true });
    await closeFinding(ledger.pool, lost);
    expect(await now()).toMatchObject({ whole: true });
  });

  it('has another epoch once somebody saw that its beat fell, and no other one twice', async () => {
    const seen = await now();
    expect(wentBackSince(seen, await now())).toBe(false);
    await ledger.pool.query('UPDATE ledger SET beat = beat - 1');
    expect(wentBackSince(seen, await now())).toBe(true);
    expect(await doubtLedger(ledger.pool, seen.epoch)).toBe(true);
    expect(await doubtLedger(ledger.pool, seen.epoch)).toBe(false);
    const doubted = await now();
    expect(doubted).toMatchObject({ whole: false });
    expect(doubted.epoch).not.toBe(seen.epoch);
    const renewed = { epoch: seen.epoch, comparedMs: null };
    expect(await withTransaction(ledger.pool, (client) => renewEpoch(client, 'test', renewed))).toBe(false);
    const current = { epoch: doubted.epoch, comparedMs: 5 };
    expect(await withTransaction(ledger.pool, (client) => renewEpoch(client, 'test', current))).toBe(true);
    expect(await now()).toMatchObject({ epoch: doubted.epoch, whole: true });
  });

  it('knows a beat that was lost, also once its number is reached again', async () => {
    const passes = (seconds: number) =>
      ledger.pool.query(`UPDATE ledger SET beat_at = beat_at - $1 * interval '1 s', gaps = '[]'`, [seconds]);
    await passes(60);
    const kept = await raiseBeat(ledger.pool, 60_000);
    expect(wentBackSince(kept, await now())).toBe(false);
    await ledger.pool.query(`CREATE TABLE copy AS SELECT beat, beat_at FROM ledger`);
    // Two minutes later, of which the copy knows nothing.
    const lost = { ...kept, beat: kept.beat + 1, at: (kept.at ?? 0) + 60_000 };
    await ledger.pool.query(`UPDATE ledger SET (beat, beat_at) = (SELECT beat, beat_at - interval '2 min' FROM copy)`);
    const told = { ...lost, at: lost.at - 120_000 };
    await raiseBeat(ledger.pool, 60_000);
    expect(await now()).toMatchObject({ beat: told.beat });
    expect(wentBackSince(told, await now())).toBe(true);
    await ledger.pool.query(`UPDATE ledger SET beat = beat + 7, beat_at = beat_at + interval '7 min'`);
    expect(wentBackSince(told, await now())).toBe(true);
    expect(wentBackSince({ ...kept, at: (kept.at ?? 0) - 120_000 }, await now())).toBe(false);
    expect(wentBackSince(await now(), await now())).toBe(false);
    await ledger.pool.query(`DROP TABLE copy`);
    await ledger.pool.query(`UPDATE ledger SET beat_at = clock_timestamp(), gaps = '[]'`);
  });

  it('is not whole for a mode whose own workers have not compared it', async () => {
    await recordFilingByHand(ledger.pool, { reference: 'L', mode: 'live' });
    await ledger.pool.query(`UPDATE ledger SET branch = '/other'`);
    const { epoch } = await now();
    await withTransaction(ledger.pool, (client) => renewEpoch(client, 'test', { epoch, comparedMs: 5 }));
    expect(await now()).toMatchObject({ whole: true });
    expect(await readLedgerTime(ledger.pool, 'live')).toMatchObject({ whole: false });
    await closeFinding(ledger.pool, { ...NOT_COMPARED, mode: 'live' });
    expect(await readLedgerTime(ledger.pool, 'live')).toMatchObject({ whole: true });
  });
});

describe('a server that was restored or promoted', () => {
  const folder = testFolder();

  async function withServer<T>(work: (server: EmbeddedServer) => Promise<T>): Promise<T> {
    const server = await startEmbeddedPostgres({ folder: join(folder, 'data') });
    try {
      return await work(server);
    } finally {
      await server.stop();
    }
  }

  it('has another epoch, and the same one after a restart', async () => {
    const read = (url: string) => {
      const pool = createPool({ url });
      return readLedgerTime(pool, 'test').finally(() => pool.end());
    };
    const [before, dataFolder] = await withServer(async (server) => {
      const url = await server.createDatabase('ledger');
      await migrate(url);
      return [await read(url), server.folder] as const;
    });
    const restarted = await withServer((server) => read(server.urlOf('ledger')));
    expect(restarted).toEqual(before);

    // As after a restore: what is there is recovered, and goes on in a timeline of its own.
    await appendFile(join(dataFolder, 'data', 'postgresql.auto.conf'), "\nrestore_command = '/bin/false'\n");
    await writeFile(join(dataFolder, 'data', 'recovery.signal'), '');
    const promoted = await withServer((server) => read(server.urlOf('ledger')));
    expect(promoted).toMatchObject({ beat: before.beat, whole: false });
    expect(promoted.epoch).not.toBe(before.epoch);
  });
});
