/**
 * Which certificates existed before a send, from the lists that were read before sends of the same party: each number
 * is kept once, not with every send.
 */
import fc from 'fast-check';
import { readSnapshotSource, saveSnapshot } from '../../src/ledger/certificates/snapshots';
import { lineageSend } from '../../src/ledger/gates/absence';
import { movePartyOf } from '../../src/ledger/exporters/party-merge';
import { partyToReconcile } from '../../src/ledger/reconciliation/runs';
import { withTransaction } from '../../src/ledger/pool';
import { useTestDatabase } from '../support/postgres';
import { knowExporter, NOW, open, rowsOf } from './filing-support';
import { markSending } from './ledger-steps';
import { attemptSteps, SENDER } from './submissions/attempt-support';

const HOURS = 3_600_000;

const ledger = useTestDatabase();
let made = 0;
const { opened } = attemptSteps(ledger);
const hoursLater = (hours: number) => new Date(NOW.getTime() + hours * HOURS);

async function client(iec?: string): Promise<string> {
  made += 1;
  const exporterId = `lists-${made}`;
  await knowExporter(ledger, exporterId, iec ?? `AAGL${String(100_000 + made)}`);
  return exporterId;
}

/** A send of a filing of its own, after this list. @returns the filing's id */
async function send(exporterId: string, certificates: string[] | 'recent' | null, at: Date): Promise<string> {
  made += 1;
  const document = String(9_000_000 + made);
  const rows = rowsOf({ sbCumInvoiceNumber: document, billNo: `EXP/${document}`, mappedIRMAmountFCC: 1 });
  const filingId = await open(ledger, `LISTS-${made}`, rows, { exporterId });
  await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId, certificates, at });
  const attemptId = await opened(filingId);
  await withTransaction(ledger.pool, (db) =>
    markSending(db, { attemptId, sender: SENDER, payloadHash: 'hash', settleMs: 0, at }),
  );
  return filingId;
}

async function before(filingId: string): Promise<string[] | null> {
  const found = (await lineageSend(ledger.pool, { filingId, submission: 1 })).before;
  return found && [...found].sort();
}

const kept = async (exporterId: string) =>
  (
    await ledger.pool.query<{ number: string }>(
      `SELECT ebrc_number AS number FROM listed_certificates WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1)`,
      [exporterId],
    )
  ).rows.map(({ number }) => number);

it('are those of every list of the last three days, in whatever order and with whatever gaps they were read', async () => {
  const NUMBERS = ['A', 'B', 'C', 'D', 'E'];
  const list = fc.record({ after: fc.integer({ min: 0, max: 60 }), numbers: fc.subarray(NUMBERS) });
  await fc.assert(
    fc.asyncProperty(fc.array(list, { minLength: 1, maxLength: 7 }), async (lists) => {
      const exporterId = await client();
      let hours = 0;
      const sends = [];
      for (const { after, numbers } of lists) {
        hours += after;
        sends.push({ filingId: await send(exporterId, numbers, hoursLater(hours)), at: hours, numbers });
      }
      for (const [nth, { filingId, at }] of sends.entries()) {
        const earlier = sends.slice(0, nth + 1);
        const recent = earlier.filter((each) => each.at > at - 72);
        const known = await before(filingId);
        expect(known).toEqual(expect.arrayContaining([...new Set(recent.flatMap(({ numbers }) => numbers))]));
        // Nothing that only a later list had: it may have come of this send.
        expect(earlier.flatMap(({ numbers }) => numbers)).toEqual(expect.arrayContaining(known ?? []));
      }
    }),
    { numRuns: 25 },
  );
}, 60_000);

it('are kept once, however many sends of a day list them', async () => {
  const exporterId = await client();
  for (let nth = 0; nth < 5; nth += 1) await send(exporterId, ['X1', 'X2', `Y${nth}`], hoursLater(nth));
  expect((await kept(exporterId)).sort()).toEqual(['X1', 'X2', 'Y0', 'Y1', 'Y2', 'Y3', 'Y4']);
});

it('are known to a send that shares the list of another one', async () => {
  const exporterId = await client();
  await send(exporterId, ['S1', 'S2'], NOW);
  expect(await readSnapshotSource(ledger.pool, exporterId, NOW)).toMatchObject({ recent: { listed: 2, takenAt: NOW } });
  expect(await before(await send(exporterId, 'recent', NOW))).toEqual(['S1', 'S2']);
});

it('are not known where nothing could be read, nor where the list to share was another party’s', async () => {
  const exporterId = await client();
  expect(await before(await send(exporterId, null, NOW))).toBeNull();
  expect(await before(await send(exporterId, 'recent', NOW))).toBeNull();
  expect(await before(await send(exporterId, [], NOW))).toEqual([]);
});

it('stay the party’s when one of its clients turns out to be another’s, and that client’s sends have none', async () => {
  const [first, second] = [await client('AAGLSHARED'), await client('AAGLSHARED')];
  const moved = await send(first, ['M1'], NOW);
  const [from, other] = [
    await partyToReconcile(ledger.pool, first),
    await partyToReconcile(ledger.pool, await client()),
  ];
  await withTransaction(ledger.pool, (db) =>
    movePartyOf(db, { from: from?.partyId ?? 0, to: other?.partyId ?? 0, exporterId: first, at: NOW }),
  );
  expect(await before(moved)).toBeNull();
  expect(await before(await send(second, ['M2'], hoursLater(24)))).toEqual(['M1', 'M2']);
});
