/**
 * Every send number gets a file in the document store, whatever fails between the mark and the first byte: without one,
 * the number up to which the store is known to be whole would stand still for ever.
 */
import type { SubmitContext } from '../../src/api/http/call';
import { needFiling } from '../../src/ledger/filings/filings';
import { importSends } from '../../src/ledger/sends/send-import';
import { readIdentity, readSend } from '../../src/ledger/sends/sends';
import { attemptSteps } from '../ledger/submissions/attempt-support';
import { EXPORTER, knowExporter } from '../ledger/filing-support';
import { useTestDatabase } from '../support/postgres';
import { useDoor } from './door';

const ledger = useTestDatabase(knowExporter);
let pushes = 0;
/** Replaces calls to the document store while it is set. */
let broken: { createRecord?: () => Promise<boolean> } = {};
const attempts = attemptSteps(ledger);

const service = {
  pushIrm: async (_: unknown, context: SubmitContext) => {
    await context.beforeWrite();
    pushes += 1;
    return {
      status: 200,
      warnings: [],
      parsed: { requestId: `R-${pushes}`, dgftAckId: null, ackStatus: null, recordResCount: 1 },
    };
  },
};
const door = useDoor(ledger, service, (deps) => ({
  ...deps,
  documents: {
    ...deps.documents,
    createRecord: (name, content) => broken.createRecord?.() ?? deps.documents.createRecord(name, content),
  },
}));

afterEach(() => (broken = {}));

const full = () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
async function submission() {
  const filingId = await attempts.filing();
  return { filingId, submission: 1, exporterId: EXPORTER, attemptId: await attempts.opened(filingId) };
}
const sent = async () => door.run('submitPush', await submission());

it.each(['', ' and the sends were imported since'])(
  'has a file for a number whose store was full%s',
  async (imported) => {
    await sent();
    broken = { createRecord: full };
    const failed = await submission();
    expect(await door.failure('submitPush', failed)).toMatchObject({ type: 'documents_unavailable' });
    broken = {};
    expect(await door.run('readAttempt', { ...failed, seq: 1 })).toMatchObject({ verdict: 'unsent' });
    if (imported) await importSends(ledger.pool, door.deps.documents, { at: new Date(), by: 'ravi' });
    await sent();
    const { sendNumber, seen } = await readIdentity(ledger.pool);
    expect(seen).toBe(sendNumber);
  },
);

it('stays marked while its number cannot get a file, and is not sent once it can', async () => {
  broken = { createRecord: full };
  const failed = await submission();
  await door.failure('submitPush', failed);
  expect(await attempts.attempts(failed.filingId)).toEqual(['marked']);
  expect(await door.failure('readAttempt', { ...failed, seq: 1 })).toMatchObject({ type: 'documents_unavailable' });
  broken = {};
  expect(await door.run('readAttempt', { ...failed, seq: 1 })).toMatchObject({ verdict: 'unsent' });
  expect(await attempts.rows(failed.filingId)).toMatchObject([{ state: 'planned', live: true }]);
});

it('abandons a filing whose sender ended between its mark and its file: nothing of it was sent', async () => {
  const { filingId, attemptId } = await submission();
  await attempts.mark(attemptId);
  const { seq } = await needFiling(ledger.pool, filingId);
  const held = { filingId, seq, by: 'ravi', note: 'no' };
  expect(await door.run('giveUpFiling', held)).toMatchObject({ filing: { state: 'abandoned' } });
  expect(await attempts.attempts(filingId)).toEqual(['unsent']);
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'withdrawn', live: false }]);
  await sent();
  const { sendNumber, seen } = await readIdentity(ledger.pool);
  expect(seen).toBe(sendNumber);
});

it('records in its file the settings of the process that marked it', async () => {
  await sent();
  const { ledgerId, sendNumber } = await readIdentity(ledger.pool);
  const { httpTimeoutMs: timeoutMs, settleAfterMs: settleMs } = door.deps.settings;
  expect(await readSend(door.deps.documents, ledgerId, sendNumber)).toMatchObject({ settleMs, timeoutMs });
});
