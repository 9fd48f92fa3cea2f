import { adoptAnswer, moveSubmission, releaseUnsent, settleRows } from '../ledger-steps';
import { certificatesBefore, saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import type { KnownSend } from '../../../src/domain/filing/attempt';
import { holdStep } from '../../../src/ledger/filings/filing-progress';
import { needFiling } from '../../../src/ledger/filings/filings';
import { withTransaction, type Queryable } from '../../../src/ledger/pool';
import { importSends } from '../../../src/ledger/sends/send-import';
import { senderOf } from '../../../src/ledger/sends/send-record';
import { countSend } from '../../../src/ledger/sends/conclusion';
import { mergeKnownSends, knownSends } from '../../../src/ledger/submissions/known-sends';
import { recordLook } from '../../../src/ledger/submissions/lost-time';
import { readRequests } from '../../../src/ledger/submissions/requests';
import { needSubmission } from '../../../src/ledger/submissions/submissions';
import { ACCEPTED, attemptSteps } from '../submissions/attempt-support';
import { EXPORTER, minutesLater, move, NOW, readBalancesAgain } from '../filing-support';
import { newStore, remember, SETTINGS, useLedgerPutBack } from './put-back';

const ledger = useLedgerPutBack();
let store: Awaited<ReturnType<typeof newStore>>;
const { filing, opened, mark, answer, close, lose, word, rows, attempts } = attemptSteps(ledger);

beforeEach(async () => {
  store = await newStore();
});

/** The secret of whoever sends. */
const SENT_BY = 'who-sent';

/** Marked and counted by a sender of its own: from here on the bytes may be out. */
async function sent(filingId: string, open?: string): Promise<string> {
  const attemptId = open ?? (await opened(filingId));
  const sender = senderOf(SENT_BY);
  const set = await mark(attemptId, sender);
  if (!set.marked) throw new Error(set.reason);
  const send = { ...SETTINGS, number: set.sendNumber, attemptId, sender, at: NOW };
  expect(await countSend(ledger.pool, store, send)).toBeNull();
  return attemptId;
}

async function acknowledged(filingId: string, requestId: string): Promise<void> {
  const attemptId = await sent(filingId);
  await answer(attemptId, { ...ACCEPTED, requestId });
  const adopted = { attemptId, answer: { ...ACCEPTED, requestId }, at: NOW };
  await withTransaction(ledger.pool, (client) => adoptAnswer(client, adopted));
}

/** The authority rejects the filing's one row. */
const rejected = (filingId: string, first?: (client: Queryable) => Promise<void>) =>
  withTransaction(ledger.pool, async (client) => {
    await first?.(client);
    const verdicts = [{ position: 0, outcome: 'errored' as const, errors: ['no'] }];
    await settleRows(client, { filingId, exporterId: EXPORTER, verdicts, at: NOW });
    await moveSubmission(client, { filingId, submission: 1, at: NOW });
  });

const restored = () => importSends(ledger.pool, store, { at: minutesLater(60), by: 'ravi' });
const handIn = (filingId: string, sends: readonly KnownSend[]) =>
  withTransaction(ledger.pool, (client) => mergeKnownSends(client, { filingId, sends, at: minutesLater(61) }));
const submission = (filingId: string) => needSubmission(ledger.pool, filingId, 1);

describe('a run whose history has more than the ledger', () => {
  it.each([
    ['before its sends are brought back', false],
    ['after they are', true],
  ])('hands the request of its submission in, %s', async (_when, after) => {
    const filingId = await filing();
    const back = await remember(ledger);
    await acknowledged(filingId, 'R-1');
    const known = await knownSends(ledger.pool, filingId);
    expect(known).toMatchObject([{ submission: 1, attempt: 1, requestId: 'R-1', sentAt: NOW.getTime() }]);
    await back();
    if (after) await restored();
    // Somebody else says so too, of another request: it is not taken while it is known who sent.
    if (after) await handIn(filingId, [{ ...KNOWN, requestId: 'R-FORGED', sentBy: 'somebody' }]);
    await handIn(filingId, [{ ...KNOWN, ...known[0], sentBy: SENT_BY }]);
    if (!after) await restored();
    expect(await submission(filingId)).toMatchObject({ state: 'acknowledged', submittedAt: NOW });
    // Until it is known who sent, nobody can prove that it is the answer.
    const [source, verdict] = after ? ['acknowledged_late', 'accepted'] : ['named', 'marked'];
    expect(await readRequests(ledger.pool, filingId, 1)).toMatchObject([{ requestId: 'R-1', source }]);
    expect(await attempts(filingId)).toEqual([verdict]);
    expect(await rows(filingId)).toEqual([{ state: 'submitted', live: true, sent: true, ordinal: 0 }]);
    expect(await knownSends(ledger.pool, filingId)).toMatchObject([{ requestId: 'R-1', sentAt: NOW.getTime() }]);
  });

  it('reports a request that a person named', async () => {
    const filingId = await filing();
    const back = await remember(ledger);
    const attemptId = await sent(filingId);
    await word({ filingId, attemptId, kind: 'filed', requestId: 'R-2', by: 'ravi' });
    const known = await knownSends(ledger.pool, filingId);
    expect(known).toMatchObject([{ requestId: 'R-2', sentBy: null }]);
    await back();
    await restored();
    await handIn(filingId, known);
    expect(await submission(filingId)).toMatchObject({ state: 'acknowledged' });
    expect(await readRequests(ledger.pool, filingId, 1)).toMatchObject([{ requestId: 'R-2', source: 'named' }]);
    expect(await attempts(filingId)).toEqual(['marked']);
  });

  it("keeps a person's later answer about an attempt, and the authority's decision on its rows", async () => {
    const filingId = await filing();
    const snapshot = { filingId, submission: 1, exporterId: EXPORTER, certificates: [], at: NOW };
    await saveSnapshot(ledger.pool, snapshot);
    const attemptId = await sent(filingId);
    await lose(attemptId);
    const before = await knownSends(ledger.pool, filingId);
    const at = minutesLater(241);
    await readBalancesAgain(ledger, EXPORTER, at);
    const look = { exporterId: EXPORTER, beganAt: at, endedAt: at, from: '01012026', to: '10022026', problem: null };
    await recordLook(ledger.pool, look);
    expect(await word({ filingId, attemptId, by: 'ravi' })).toEqual({ outcome: 'again' });
    await handIn(filingId, before);
    expect(await attempts(filingId)).toEqual(['absent']);
    expect(await rows(filingId)).toMatchObject([{ state: 'planned' }]);
    const other = await filing();
    await acknowledged(other, 'R-3');
    const known = await knownSends(ledger.pool, other);
    await rejected(other);
    await handIn(other, known);
    expect(await submission(other)).toMatchObject({ state: 'settled' });
    expect(await rows(other)).toMatchObject([{ state: 'needs_correction', live: false }]);
  });

  it('reports an attempt as sent that neither the ledger nor the store has any more', async () => {
    const filingId = await filing();
    const back = await remember(ledger);
    const attemptId = await sent(filingId);
    await lose(attemptId);
    const known = await knownSends(ledger.pool, filingId);
    await back();
    expect(await attempts(filingId)).toEqual([]);
    await handIn(filingId, known);
    expect(await attempts(filingId)).toEqual(['marked']);
    expect(await rows(filingId)).toEqual([{ state: 'unknown', live: true, sent: true, ordinal: 0 }]);
    await expect(opened(filingId)).rejects.toThrow(/marked/u);
  });
});

describe('sends that are brought back', () => {
  it('leave rows alone that their own answer has settled in the older ledger meanwhile', async () => {
    const filingId = await filing();
    const back = await remember(ledger);
    const attemptId = await sent(filingId);
    await back();
    const accepted = { ...ACCEPTED, requestId: 'R-4' };
    await answer(attemptId, accepted);
    await rejected(filingId, (client) => adoptAnswer(client, { attemptId, answer: accepted, at: NOW }));
    await restored();
    expect(await attempts(filingId)).toEqual(['accepted']);
    expect(await rows(filingId)).toMatchObject([{ state: 'needs_correction', live: false }]);
    expect(await submission(filingId)).toMatchObject({ state: 'settled' });
  });

  it('hold the rows that the older ledger has freed meanwhile, as the request that a run hands in does', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    const back = await remember(ledger);
    await sent(filingId, attemptId);
    await back();
    await withTransaction(ledger.pool, (client) =>
      releaseUnsent(client, { filingId, state: 'needs_correction', at: NOW }),
    );
    expect(await rows(filingId)).toMatchObject([{ state: 'needs_correction', live: false }]);
    await handIn(filingId, [{ ...KNOWN, requestId: 'R-5', sentBy: SENT_BY }]);
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
    await restored();
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
  });

  it('hold the rows that were planned again under a request that a run handed in', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    const back = await remember(ledger);
    await sent(filingId, attemptId);
    await back();
    await handIn(filingId, [{ ...KNOWN, requestId: 'R-6', sentBy: SENT_BY }]);
    // Another execution of the attempt, which the ledger has as open, finds that it wrote nothing.
    await close(attemptId, 'another');
    expect(await rows(filingId)).toMatchObject([{ state: 'planned' }]);
    await restored();
    expect(await attempts(filingId)).toEqual(['marked']);
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
  });

  it('are recorded as a move that no run takes for one of its own', async () => {
    const filingId = await filing();
    const back = await remember(ledger);
    await sent(filingId);
    await move(ledger, filingId, 'submitting', 'processing');
    const { seq } = await needFiling(ledger.pool, filingId);
    await back();
    await restored();
    for (let own = 1; own <= seq + 3; own += 1) {
      const held = await withTransaction(ledger.pool, (client) => holdStep(client, { filingId, seq: own }));
      expect(held).toBe('differs');
    }
  });

  it('bring the list of certificates back that was read before them', async () => {
    const filingId = await filing();
    const back = await remember(ledger);
    const before = { filingId, submission: 1, exporterId: EXPORTER };
    await saveSnapshot(ledger.pool, { ...before, certificates: ['E1', 'E2'], at: NOW });
    const attemptId = await sent(filingId);
    await back();
    // What was read since then holds the certificate of the lost send itself.
    const since = { ...before, filingId: await filing(), certificates: ['E1', 'E2', 'E3'], at: minutesLater(30) };
    await saveSnapshot(ledger.pool, since);
    await restored();
    const read = `SELECT ${certificatesBefore('s')} AS numbers FROM attempts JOIN snapshots s USING (snapshot_id)`;
    expect(await ledger.select(`${read} WHERE attempt_id = $1`, attemptId)).toEqual([{ numbers: ['E1', 'E2'] }]);
  });
});

it('has no filing of a lost state, whatever number its run has reached', async () => {
  const back = await remember(ledger);
  const filingId = await filing();
  await back();
  expect(await withTransaction(ledger.pool, (client) => holdStep(client, { filingId, seq: 1 }))).toBe('differs');
  await handIn(filingId, [{ ...KNOWN, requestId: 'R-9' }]);
  expect(await attempts(filingId)).toEqual([]);
});

const KNOWN: KnownSend = {
  ...{ submission: 1, attempt: 1, sentAt: null, requestId: null, sentBy: null, dgftAckId: null, ackStatus: null },
};
