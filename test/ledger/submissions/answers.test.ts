import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { releaseRows, releaseUnsent } from '../../../src/ledger/rows/filing-rows';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { withTransaction } from '../../../src/ledger/pool';
import { releaseSubmissions } from '../../../src/ledger/submissions/submissions';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { ACCEPTED, attemptSteps } from './attempt-support';
import { knowExporter, move, NOW, open as file, rowsOf } from '../filing-support';

let ledger: TestDatabase;
const { filing, opened, open, mark, read, close, lose, answer, say, rows, attempts } = attemptSteps(() => ledger);

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

const at = NOW;
const SECOND = { ...ACCEPTED, requestId: 'R2' };

describe('an answer', () => {
  const states: [string, (attemptId: string) => Promise<unknown>][] = [
    ['open', () => Promise.resolve()],
    ['sending', mark],
    ['closed', read],
    ['closed by a person', (attemptId) => mark(attemptId).then(() => say(attemptId))],
    ['unknown', (attemptId) => mark(attemptId).then(() => lose(attemptId))],
  ];
  it.each(states)('that comes late is kept although the attempt is %s', async (_, bring) => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await bring(attemptId);
    await answer(attemptId);
    expect(await read(attemptId)).toMatchObject({ verdict: 'answered', answer: ACCEPTED });
    expect(await rows(filingId)).toMatchObject([{ live: true, sent: true }]);
    expect(await open(filingId)).toMatchObject({ attemptId, state: 'answered' });
  });

  it('is never replaced by a later one, nor closed', async () => {
    const attemptId = await opened(await filing());
    await mark(attemptId);
    await answer(attemptId);
    await answer(attemptId, SECOND);
    await close(attemptId);
    expect(await read(attemptId, 'validation_failed')).toMatchObject({ answer: { requestId: 'R1' } });
  });

  it('is written down with its attempt where the ledger has lost that', async () => {
    const filingId = await filing();
    const attemptId = attemptIdOf(filingId, 1, 3);
    await answer(attemptId);
    expect(await open(filingId)).toMatchObject({ attemptId, number: 3, state: 'answered' });
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
  });
});

describe('an acceptance of an attempt that had been closed', () => {
  async function closedByPerson(): Promise<{ filingId: string; first: string; second: string }> {
    const filingId = await filing();
    const first = await opened(filingId);
    await mark(first);
    await say(first);
    return { filingId, first, second: await opened(filingId) };
  }

  it('closes the open one beside it, whose mark is refused', async () => {
    const { filingId, first, second } = await closedByPerson();
    await answer(first);
    expect(await attempts(filingId)).toEqual(['answered', 'not_sent']);
    expect(await mark(second)).toMatchObject({ marked: false, why: 'closed' });
    expect(await open(filingId)).toMatchObject({ attemptId: first, state: 'answered' });
  });

  it('has one winner when it comes together with the mark of the next one', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { filingId, first, second } = await closedByPerson();
      const [marked] = await Promise.all([mark(second), answer(first)]);
      const view = await readFilingView(ledger.pool, filingId);
      // Sent all the same: then somebody is told. Never silently.
      expect(view?.attention ?? '').toMatch(marked.marked ? /accepted twice/u : /^$/u);
      expect(await attempts(filingId)).toEqual(['answered', marked.marked ? 'sending' : 'not_sent']);
    }
  });

  it('asks for attention with both request ids where the other one was accepted too, in whichever order', async () => {
    for (const [early, late] of [
      ['first', 'second'],
      ['second', 'first'],
    ] as const) {
      const made = await closedByPerson();
      await mark(made.second);
      await answer(made[early]);
      await answer(made[late], SECOND);
      const view = await readFilingView(ledger.pool, made.filingId);
      expect(view).toMatchObject({ needsAttention: true });
      expect(view?.attention).toMatch(/accepted twice.*R[12].*R[12]/u);
      expect(await attempts(made.filingId)).toEqual(['answered', 'answered']);
    }
  });

  it('takes the rows of a filing back that was given up, so that nobody files them again', async () => {
    const { filingId, first } = await closedByPerson();
    await withTransaction(ledger.pool, (client) => releaseUnsent(client, { filingId, state: 'withdrawn', at }));
    await move(ledger, filingId, 'abandoned');
    await answer(first);
    expect(await rows(filingId)).toEqual([{ state: 'abandoned_after_send', live: true, sent: true, ordinal: 0 }]);
    const view = await readFilingView(ledger.pool, filingId);
    expect(view).toMatchObject({ needsAttention: true, attention: expect.stringContaining('R1') as string });
  });

  it.each([
    ['stops the one that is not sent yet', false, { state: 'needs_correction', live: false }, 0],
    ['takes the next ordinal beside the one that is sent', true, { state: 'submitted', live: true }, 1],
  ])('%s, of a mapping that was filed again meanwhile', async (_, sent, again, ordinal) => {
    const content = rowsOf({ sbCumInvoiceNumber: `300000${ordinal}`, mappedIRMAmountFCC: 1 });
    const filingId = await file(ledger, `FREED-${ordinal}`, content);
    const first = await opened(filingId);
    await mark(first);
    await say(first);
    await withTransaction(ledger.pool, (client) => releaseUnsent(client, { filingId, state: 'withdrawn', at }));
    await move(ledger, filingId, 'abandoned');
    const twin = await file(ledger, `FILED-AGAIN-${ordinal}`, content);
    const attemptId = await opened(twin);
    if (sent) await mark(attemptId);
    await answer(first);
    expect(await rows(filingId)).toEqual([{ state: 'abandoned_after_send', live: true, sent: true, ordinal }]);
    expect(await rows(twin)).toMatchObject([again]);
    expect(await mark(attemptId)).toMatchObject({ marked: false, why: 'closed' });
  });
});

describe('freeing rows', () => {
  it('closes their open attempt, and leaves those alone that are on their way', async () => {
    const unsent = await filing();
    const open = await opened(unsent);
    const underWay = await filing();
    const sending = await opened(underWay);
    await mark(sending);
    for (const filingId of [unsent, underWay]) {
      await withTransaction(ledger.pool, async (client) => {
        await releaseRows(client, { filingId, submission: 1, state: 'needs_correction', at });
        await releaseUnsent(client, { filingId, state: 'needs_correction', at });
        await releaseSubmissions(client, { filingId, refused: 1, at });
      });
    }
    expect(await mark(open)).toMatchObject({ marked: false, why: 'closed' });
    expect(await rows(unsent)).toMatchObject([{ state: 'needs_correction', live: false }]);
    expect(await rows(underWay)).toMatchObject([{ state: 'submitted', live: true }]);
    expect((await readFilingView(ledger.pool, underWay))?.submissions).toMatchObject([{ state: 'planned' }]);
  });
});
