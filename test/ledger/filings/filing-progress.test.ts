import { FILING_STATES, isEnd, mayFollow, type FilingState } from '../../../src/domain/filing/states';
import { holdStep, type ProgressNote } from '../../../src/ledger/filings/filing-progress';
import { readStanding, type FilingNow } from '../../../src/ledger/filings/filing-now';
import { takeUpFiling, recordRunProblem } from '../../../src/ledger/filings/open-filings';
import { askAbout } from '../../../src/ledger/questions/questions';
import { pageOfFilings } from '../../../src/ledger/filings/filing-pages';
import { needFiling } from '../../../src/ledger/filings/filings';
import { withTransaction } from '../../../src/ledger/pool';
import { useTestDatabase } from '../../support/postgres';
import { knowExporter, minutesLater, NOW, open, recordProgress, rowsOf, EXPORTER } from '../filing-support';
import { TEST_CADENCE } from '../../support/settings';
import { adoptAnswer, markSending } from '../ledger-steps';
import { addEvent, saveOfFiling } from '../../../src/ledger/filings/filing-notes';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { readSent } from '../../../src/ledger/submissions/lost-time';
import { ACCEPTED, attemptSteps, SENDER, SETTLE_MS } from '../submissions/attempt-support';

const ledger = useTestDatabase(knowExporter);
let made = 0;

const filing = () => {
  made += 1;
  return open(ledger, `PROGRESS-${made}`, rowsOf({ sbCumInvoiceNumber: String(7_000_000 + made) }));
};
const note = (filingId: string, seq: number, state: FilingState, more: Partial<ProgressNote> = {}) =>
  withTransaction(ledger.pool, (client) =>
    recordProgress(client, {
      filingId,
      seq,
      state,
      attention: null,
      at: minutesLater(seq),
      event: { kind: state, text: `note ${seq}` },
      ...more,
    }),
  );
const eventsOf = (filingId: string) =>
  ledger.select('SELECT text, state, seq FROM filing_events WHERE filing_id = $1 ORDER BY event_id', filingId);
const story = async (filingId: string) =>
  (await eventsOf(filingId)).flatMap(({ seq, text }) => (seq === null ? [] : [text]));

describe('a move', () => {
  it('is recorded once, however often its step is repeated', async () => {
    const filingId = await filing();
    expect(await note(filingId, 1, 'submitting', { step: 'run/1' })).toMatchObject({ seq: 1, state: 'submitting' });
    const now = await note(filingId, 2, 'processing', { step: 'run/2', dueAt: NOW, waitsFor: 'activation' });
    expect(now).toMatchObject({ seq: 2, state: 'processing', text: 'note 2', waitsFor: 'activation' });
    const first = await note(filingId, 1, 'submitting', { step: 'run/1' });
    expect(first).toMatchObject({ seq: 1, state: 'submitting', text: 'note 1', waitsFor: null });
    expect(await note(filingId, 2, 'processing', { step: 'run/2' })).toEqual(now);
    expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'processing', seq: 2 });
    expect(await story(filingId)).toEqual(['note 1', 'note 2']);
    const states = (await eventsOf(filingId)).map(({ state }) => state);
    expect(states).toEqual([null, 'submitting', 'processing']);
  });

  it('is written once when the same step comes twice at once', async () => {
    const filingId = await filing();
    const twin = () => note(filingId, 1, 'submitting', { step: 'run/1' });
    const [one, other] = await Promise.all([twin(), twin()]);
    // Whoever records the move tells the place in line, too.
    const known = { seq: 1, state: 'submitting', text: 'note 1' };
    expect([one, other]).toMatchObject([known, known]);
    expect(await story(filingId)).toEqual(['note 1']);
  });

  it('into the line for calls of the service tells its place there, as whoever takes the filing up reads it', async () => {
    const [early, late] = [await filing(), await filing()];
    const placeOf = async (...args: Parameters<typeof note>) => ((await note(...args)) as FilingNow).queue;
    const one = await placeOf(early, 1, 'submitting', { dueAt: minutesLater(1) });
    const two = await placeOf(late, 1, 'submitting', { dueAt: minutesLater(2) });
    expect(two).toEqual({ place: one!.place + 1, of: one!.of + 1, windows: 0 });
    expect((await readStanding(ledger.pool, late)).queue).toEqual(two);
    expect(await placeOf(early, 2, 'processing')).toBeNull();
  });

  it('of a run that is behind, or ahead of a restored ledger, is recognised and changes nothing', async () => {
    const filingId = await filing();
    await note(filingId, 1, 'submitting', { step: 'first/1' });
    await note(filingId, 2, 'processing', { step: 'first/2' });
    expect(await note(filingId, 2, 'needs_correction', { step: 'reset/7' })).toBe('differs');
    expect(await note(filingId, 9, 'collecting', { step: 'ahead/9' })).toBe('differs');
    expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'processing', seq: 2, closedAt: null });
    expect(await story(filingId)).toEqual(['note 1', 'note 2']);
  });

  it('is another one where a repeated workflow task decides otherwise, under the id of the first', async () => {
    const filingId = await filing();
    await note(filingId, 1, 'submitting', { step: 'run/1' });
    expect(await note(filingId, 1, 'needs_access', { step: 'run/1' })).toBe('differs');
    expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'submitting', seq: 1 });
  });

  it('to a state that does not follow is a defect, and an end has no successor', async () => {
    const filingId = await filing();
    await expect(note(filingId, 1, 'certified')).rejects.toThrow('certified does not follow checking');
    await note(filingId, 1, 'abandoned');
    await expect(note(filingId, 2, 'submitting')).rejects.toThrow(RangeError);
    expect((await needFiling(ledger.pool, filingId)).closedAt).toEqual(minutesLater(1));
  });

  it('clears the problem of a stuck workflow, because the run is alive', async () => {
    const filingId = await filing();
    await recordRunProblem(ledger.pool, { filingId, problem: 'Its workflow stands.', at: NOW });
    const asking = async () =>
      (await pageOfFilings(ledger.pool, { mode: 'test', attention: true, limit: 100 })).find(
        (each) => each.filingId === filingId,
      );
    expect(await asking()).toMatchObject({ attention: 'Its workflow stands.', needsAttention: true });
    await note(filingId, 1, 'submitting');
    expect(await asking()).toBeUndefined();
  });
});

it('lets a run write only what it decided on the newest move', async () => {
  const filingId = await filing();
  await note(filingId, 1, 'submitting');
  const hold = (seq: number) => withTransaction(ledger.pool, (client) => holdStep(client, { filingId, seq }));
  expect(await hold(1)).toMatchObject({ seq: 1 });
  expect(await hold(0)).toBe('differs');
});

describe('a filing that is taken up', () => {
  const OPEN = FILING_STATES.filter((state) => !isEnd(state));
  const takeUp = (filingId: string, step: string) =>
    withTransaction(ledger.pool, (client) => takeUpFiling(client, { filingId, step, at: NOW }));

  /** A filing of one submission that stands in a state, and its submission in another. */
  async function standing(state: FilingState, submission: string, request: string | null, attempt?: string) {
    const filingId = await filing();
    await ledger.pool.query('UPDATE filings SET state = $2 WHERE filing_id = $1', [filingId, state]);
    await askAbout(ledger.pool, { filingId, kind: 'asked', text: 'as it was', until: 'state', at: NOW });
    await ledger.pool.query('UPDATE submissions SET state = $2 WHERE filing_id = $1', [filingId, submission]);
    if (attempt) {
      await ledger.pool.query(
        `INSERT INTO attempts (attempt_id, filing_id, submission, number, verdict) VALUES ($1, $2, 1, 1, $3)`,
        [`${filingId}-1-1`, filingId, attempt],
      );
    }
    if (request) {
      await ledger.pool.query(
        `INSERT INTO requests (filing_id, submission, request_id, mode, customer_id, source, since, state)
         SELECT filing_id, 1, 'R-' || filing_id, mode, exporter_id, 'acknowledged', made_at, $2 FROM filings
          WHERE filing_id = $1`,
        [filingId, request],
      );
    }
    return filingId;
  }

  it.each([
    ['planned', null, undefined, { checking: ['checking', 'awaiting_approval', 'needs_credentials', 'needs_access'] }],
    ['planned', null, 'unsent', { checking: ['checking', 'awaiting_approval', 'needs_credentials', 'needs_access'] }],
    ['planned', null, 'marked', { outcome_unknown: ['outcome_unknown'] }],
    ['acknowledged', null, 'accepted', { outcome_unknown: ['outcome_unknown'] }],
    ['acknowledged', 'followed', 'accepted', { overdue: ['overdue'], processing: 'others' }],
    ['settled', 'ended', 'accepted', { collecting: 'others' }],
    ['settled', null, 'marked', { collecting: 'others' }],
  ] as const)(
    'with a submission %s (request %s, attempt %s) goes on from where that is',
    async (submission, request, attempt, expected) => {
      const table: Partial<Record<FilingState, readonly string[] | 'others'>> = expected;
      for (const state of OPEN) {
        const filingId = await standing(state, submission, request, attempt);
        await takeUp(filingId, 'run/1');
        const named = Object.entries(table).find(([, from]) => from !== 'others' && from.includes(state))?.[0];
        const rest = Object.entries(table).find(([, from]) => from === 'others')?.[0] ?? 'submitting';
        const after = await needFiling(ledger.pool, filingId);
        expect([state, after.state]).toEqual([state, named ?? rest]);
        // A question that was asked stays asked; one about a state that is over is gone.
        expect(after.attention?.includes('as it was') ?? false).toBe(after.state === state);
      }
    },
  );

  it('moves once for a repeated step, and not at all when it has ended', async () => {
    const filingId = await standing('needs_access', 'acknowledged', 'followed', 'accepted');
    await takeUp(filingId, 'run/1');
    await takeUp(filingId, 'run/1');
    expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'processing', seq: 1 });
    await note(filingId, 2, 'abandoned');
    await takeUp(filingId, 'run/2');
    expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'abandoned', seq: 2 });
  });

  it('whose rows were all freed can be ended from where it stands', async () => {
    for (const state of OPEN) {
      const filingId = await standing(state, 'released', null);
      await takeUp(filingId, 'run/1');
      const after = await needFiling(ledger.pool, filingId);
      expect(mayFollow(after.state, 'needs_correction') && mayFollow(after.state, 'abandoned')).toBe(true);
    }
  });
});

describe('what a view shows of a filing', () => {
  const database = ledger;
  const { opened, mark, answer: storeTheAnswer } = attemptSteps(database);

  test('rows that the service read otherwise, and its own observations, are warnings like all others, also at the end', async () => {
    const { pool } = database;
    const filingId = await open(database, 'JULY', rowsOf({}));
    await addEvent(pool, { filingId, at: NOW, kind: 'upload_mismatch', text: 'The service read 0 rows, 1 were sent.' });
    const answer = {
      kind: 'accepted' as const,
      status: 200,
      requestId: 'R1',
      warnings: [
        'The held amount differs.',
        'Row 2: no held IRM record',
        { serialNo: '1', field: 'irmFCC', message: 'irmFCC disagrees' },
        { note: 'x' },
      ],
    };
    const attemptId = await opened(filingId);
    await mark(attemptId);
    await storeTheAnswer(attemptId, answer);
    await adoptAnswer(pool, { attemptId, answer, at: NOW });
    const view = await readFilingView(pool, filingId, TEST_CADENCE);
    expect(view?.attempt).toBe(attemptId);
    const warning = (code: string, message: string, of: object = {}) => ({
      ...{ severity: 'warning', code, row: null, field: null, message },
      ...of,
    });
    expect(view?.warnings).toEqual([
      warning('upload_mismatch', 'The service read 0 rows, 1 were sent.'),
      warning('observation', 'The service observed: The held amount differs.'),
      warning('observation', 'The service observed, in its own numbering of rows: Row 2: no held IRM record'),
      warning('observation', 'The service observed: irmFCC disagrees', { row: 1, field: 'irmFCC' }),
      warning('observation', 'The service observed: note: x'),
    ]);
  });

  test('the gravest twenty questions travel with it, and the count of all: a large filing may have thousands', async () => {
    const filingId = await filing();
    const asked = { filingId, kind: 'certificate_contradicted', until: 'fact' as const, at: NOW };
    for (let key = 1; key <= 25; key += 1)
      await askAbout(ledger.pool, { ...asked, key: String(key), text: `Question ${key}.` });
    const twenty = Array.from({ length: 20 }, (_, n) => `Question ${n + 1}.`);
    const { standing, attention } = await readStanding(ledger.pool, filingId);
    expect([standing, attention]).toEqual([twenty.join(' '), twenty.join(' ')]);
    const view = await readFilingView(ledger.pool, filingId, TEST_CADENCE);
    expect([view?.questionCount, view?.questions.map(({ text }) => text)]).toEqual([25, twenty]);
  });

  test('of other filings on an IRM only those are named whose use the balance before the send did not contain', async () => {
    const { pool } = database;
    const sent = async (reference: string, bill: string, amount: number) => {
      const row = { sbCumInvoiceNumber: bill, billNo: `EXP/${bill}`, mappedIRMAmountFCC: amount };
      const filingId = await open(database, reference, rowsOf(row));
      const snapshot = { filingId, submission: 1, exporterId: EXPORTER, certificates: [], at: NOW };
      await saveSnapshot(pool, snapshot);
      const attemptId = await opened(filingId);
      const send = { attemptId, sender: SENDER, payloadHash: 'hash', settleMs: SETTLE_MS, at: NOW };
      await withTransaction(pool, (client) => markSending(client, send));
      return { filingId, attemptId };
    };
    const used = await sent('USED', '3000001', 400);
    await sent('MISSED', '3000002', 30);
    const followed = await sent('FOLLOWED', '3000003', 50);
    await adoptAnswer(pool, { attemptId: followed.attemptId, answer: { ...ACCEPTED, requestId: 'R3' }, at: NOW });
    const lost = await sent('LOST', '3000004', 10);
    const beside = async (before: number, minutes: number): Promise<string[]> => {
      const [irm] = (await readSent(pool, used.attemptId))?.balances ?? [];
      const readBefore = minutesLater(minutes).toISOString();
      const balances = [{ irmKey: irm?.irmKey, before: String(before), after: '1', readBefore, readAfter: null }];
      await saveOfFiling(pool, lost.filingId, { evidence: { balances } });
      const view = await readFilingView(pool, lost.filingId, TEST_CADENCE);
      const others = (view?.otherUses ?? []).filter((use) => use.reference !== 'JULY');
      return others.map(({ reference, amount }) => `${reference} ${amount}`).sort();
    };
    expect(await beside(10_000, -1)).toEqual(['FOLLOWED 50', 'MISSED 30', 'USED 400']);
    // Read after the sends: 20 less than before them, which is none of the two, and then all of it.
    expect(await beside(9_980, 1)).toEqual(['FOLLOWED 50', 'MISSED 30', 'USED 400']);
    expect(await beside(9_970, 1)).toEqual(['FOLLOWED 50', 'USED 400']);
    expect(await beside(9_570, 1)).toEqual(['FOLLOWED 50']);
    // What was filed shows by the end of the settle window.
    expect(await beside(10_000, 24 * 60)).toEqual(['FOLLOWED 50']);
  });
});
