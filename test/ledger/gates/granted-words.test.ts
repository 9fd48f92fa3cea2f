/** Words of two persons, of an exporter whose policy asks for approval: they are words of two principals. */
import { shownOfSend } from '../../../src/ledger/principals/shown';
import { writeGrant } from '../../../src/ledger/principals/grants';
import { markedAt } from '../../../src/ledger/submissions/attempts';
import { principalOf } from '../../support/principals';
import { useGates, type Sent } from './gate-support';

const { ledger, exporter, word } = useGates();

/** A send whose answer was lost, with certificates that cannot be looked at. */
async function lost(): Promise<Sent & { exporterId: string }> {
  const party = await exporter();
  const sent = await party.sent();
  await ledger.pool.query('UPDATE exporters SET requires_approval = true WHERE exporter_id = $1', [party.exporterId]);
  return { ...sent, exporterId: party.exporterId };
}

type Sends = Awaited<ReturnType<typeof lost>>;

async function grantOf({ filingId, attemptId, exporterId }: Sends, by: string, unseen = true): Promise<string> {
  const { pool } = ledger;
  const principal = await principalOf(pool, by, ['checker']);
  const none = { requestId: null, sourceRows: null, certificates: [], notOurs: [] };
  const about = { ...none, filingId, kind: 'not_filed' as const, attemptId, markedAt: await markedAt(pool, attemptId) };
  return writeGrant(pool, principal, {
    action: 'resolve',
    exporterId,
    filingId,
    shown: shownOfSend({ ...about, unseen }),
  });
}

it('counts those of principals alone, and each as long as its principal may say it', async () => {
  const sent = await lost();
  const { filingId, attemptId } = sent;
  const say = (by: string, grantId?: string, singlePerson = false) =>
    word({ filingId, attemptId, by, unseen: true, grantId, singlePerson });
  const refused = (why: RegExp) => ({ outcome: 'refused', why: expect.stringMatching(why) as string });
  const stands = { outcome: 'stands', why: expect.stringMatching(/somebody else/u) as string };

  for (const by of ['ravi', 'meera']) expect(await say(by)).toEqual(refused(/a name alone proves nobody/u));
  expect(await say('ravi', await grantOf(sent, 'ravi', false))).toEqual(refused(/what was shown to ravi/u));
  expect(await say('somebody', await grantOf(sent, 'ravi'))).toEqual({
    ...stands,
    why: expect.stringMatching(/ravi is/u),
  });
  // The same principal again, also where one person answers for the installation.
  expect(await say('meera', await grantOf(sent, 'ravi'), true)).toEqual(stands);
  expect(await say('meera')).toEqual(refused(/a name alone proves nobody/u));
  await ledger.pool.query(`UPDATE principals SET removed_at = now() WHERE name = 'ravi'`);
  expect(await say('meera', await grantOf(sent, 'meera'))).toEqual(stands);
  expect(await say('anil', await grantOf(sent, 'anil'))).toEqual({ outcome: 'again' });
});
