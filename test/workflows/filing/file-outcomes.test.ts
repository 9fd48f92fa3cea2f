/**
 * How a filing ends, what it asks of people meanwhile, and how long it waits: each question is opened and closed by a
 * fact, and past the deadline of a wait somebody is asked.
 */
import { messageOf } from '../../../dev/sample-mapping';
import type { FaultInput } from '../../../src/sandbox/faults/fault-schema';
import type { FilingResult } from '../../../src/domain/contracts';
import type { Finding } from '../../../src/domain/rules/finding';
import { resumeInput } from '../../../src/domain/filing/run-judgement';
import { acknowledgeFinding } from '../../../src/ledger/reconciliation/findings';
import { saveInput } from '../../../src/ledger/filings/filing-inputs';
import { needFiling } from '../../../src/ledger/filings/filings';
import { pageOfFilings } from '../../../src/ledger/filings/filing-pages';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { eventually } from '../../support/processes';
import { HOUR_MS, type Filing, type TestExporter } from './filing-stage';
import { operationsOf, SHORT_SETTLE, useFilingStage } from './use-filing-stage';

const stage = useFilingStage(SHORT_SETTLE);

const isAsked = ({ attention }: FilingResult) => attention?.includes('Was submission') ?? false;

/** The service says that it read other rows than were sent. */
const misread = (exporter: TestExporter) =>
  stage.aroundPush(exporter, async (push, context) => {
    const answer = await push(context);
    return { ...answer, parsed: { ...answer.parsed, recordResCount: 7 } };
  });

const asking = async () =>
  (await pageOfFilings(stage.ledger.pool, { mode: 'test', attention: true, limit: 100 })).map(
    ({ filingId }) => filingId,
  );

it('asks a person after the settle window, because the absence of certificates proves nothing', async () => {
  const { exporter, filing } = await stage.lost('drop-before-accept');
  const [question] = (await stage.view(filing)).questions;
  await stage.pass(0.02);
  const { attention, filingId, counts, attempt, rows } = await stage.until(filing, isAsked);
  expect(stage.pushes(exporter)).toBe(1);
  expect(attention).toContain(`ebrc resolve ${filingId} --as filed`);
  expect(attention).toContain('Rows without a certificate: 1 of 1. Look at the evidence in `ebrc show`');
  expect(counts).toMatchObject({ open: 1, errored: 0 });
  const view = await stage.view(filing);
  expect(view).toMatchObject({ needsAttention: true, attempt, rows: [{ state: 'unknown' }] });
  expect(rows).toMatchObject([{ row: 1, state: 'unknown', eBRCNumber: null }]);
  expect(view.evidence).toMatchObject({ openRows: 1, adopted: [], balances: [{ before: '10000', after: '10000' }] });
  // The question keeps its age while the filing is in the state, and goes with it.
  expect(view.questions).toMatchObject([
    { id: question?.id, kind: 'outcome_unknown', since: question?.since, actions: ['resolve', 'abandon'] },
  ]);
  await stage.resolve(filing, 'not-filed');
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', attention: null });
  expect(await stage.view(result)).toMatchObject({ needsAttention: false, questions: [] });
  expect(stage.pushes(exporter)).toBe(2);
});

it('gathers evidence until the end of its sender’s window, where that is longer than the one of its run', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'drop-before-accept');
  const settings = `UPDATE attempts SET settle_ms = $2 WHERE filing_id IN (SELECT filing_id FROM filings WHERE exporter_id = $1)`;
  const longer = () => stage.ledger.pool.query(settings, [exporter.exporterId, 9 * HOUR_MS]);
  stage.aroundPush(exporter, (push, context) => push(context).finally(longer));
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const { attention, filingId } = await stage.until(filing, 'outcome_unknown');
  const [sent] = await stage.ledger.select('SELECT marked_at AS at FROM attempts WHERE filing_id = $1', filingId);
  const until = new Date((sent?.['at'] as Date).getTime() + 9 * HOUR_MS);
  expect(attention).toContain(`Evidence is gathered until ${until.toISOString()}.`);
});

it('checks the balances again after “not filed”, and sends nothing that they do not allow any more', async () => {
  const { exporter, filing } = await stage.lost('drop-before-accept');
  await stage.pass(0.02);
  await stage.until(filing, isAsked);
  // Somebody else maps the remittance meanwhile.
  for (const irm of (await stage.account(exporter)).irms) irm.available = '999';
  await stage.pass(0.02);
  await stage.untilAsleep(filing);
  // The balance may have gone to this filing: one person is not enough.
  await expect(stage.resolve(filing, 'not-filed')).rejects.toMatchObject({ cause: { type: 'second_person' } });
  await stage.resolve(filing, 'not-filed', undefined, { by: 'meera' });
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'needs_correction', errors: [{ code: 'over_balance' }] });
  expect(stage.pushes(exporter)).toBe(1);
});

describe('a submission of which nothing was accepted', () => {
  it('is sent again by itself after a 429 and after a refused connection', async () => {
    const [limited, refused] = [await stage.exporter(), await stage.exporter()];
    stage.fault(limited, 'push-irm', 'status-429');
    const first = await stage.file(limited, [stage.mapping(limited)]);
    expect(await first.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(limited)).toBe(2);

    stage.aroundPush(refused, async (send, context) => {
      await stage.sandbox.refuseConnections(true);
      return send(context).finally(() => stage.sandbox.refuseConnections(false));
    });
    const second = await stage.file(refused, [stage.mapping(refused)]);
    const result = await second.result();
    expect(result).toMatchObject({ state: 'certified' });
    expect(stage.pushes(refused)).toBe(1);
    expect(await stage.story(result.filingId)).toContain('not_sent');
  });

  it('ends in needs_correction when its acknowledgement failed and the service does not know its request', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'failed-ack');
    const rows = [stage.mapping(exporter)];
    const filing = await stage.file(exporter, rows);
    await stage.until(filing, 'processing');
    const { currentDetails } = await filing.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(currentDetails).toMatch(
      /Waits for the acknowledgement of the authority, since .* UTC; expected by .* UTC; at the latest .* UTC\./u,
    );
    // They stay live while the certificates cannot be looked for, far beyond the end of the settle window.
    stage.fault(exporter, 'fetch-details', 'html-body', { status: 413, every: 1 });
    while ((await stage.view(filing)).state === 'processing') await stage.pass(0.1);
    await stage.pass(0.1);
    await stage.until(filing, 'outcome_unknown');
    expect((await stage.view(filing)).rows).toMatchObject([{ state: 'submitted' }]);
    stage.sandbox.clearFaults();
    expect(await filing.result()).toMatchObject({ state: 'needs_correction', counts: { errored: 1 } });
    expect((await stage.view(filing)).rows).toMatchObject([{ state: 'needs_correction' }]);
    // Its rows are free.
    const again = await stage.file(exporter, rows);
    expect(await again.result()).toMatchObject({ state: 'certified' });
  });

  it('asks a person with the words of a failed acknowledgement that names no request', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'failed-ack');
    stage.aroundPush(exporter, async (push, context) => {
      const answer = await push(context);
      const parsed = { ...answer.parsed, requestId: null, errorDetails: ['ERR08 record count'] };
      return { ...answer, parsed };
    });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { attention } = await stage.until(filing, 'outcome_unknown');
    expect(attention).toContain('the service acknowledged it as Failed (ERR08 record count)');
    expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('frees its rows when the service refuses the submission', async () => {
    const exporter = await stage.exporter();
    const rows = [stage.mapping(exporter)];
    // The count does not agree with the rows: the service refuses such a message.
    stage.aroundPush(exporter, (_, context) =>
      stage.worker.deps.api.pushIrm(
        { ...messageOf(rows), recordResCount: 2, platformCustomerId: exporter.exporterId },
        context,
      ),
    );
    const filing = await stage.file(exporter, rows);
    const result = await filing.result();
    expect(result.state).toBe('needs_correction');
    expect(result.errors.length).toBeGreaterThan(0);
    const again = await stage.file(exporter, rows);
    expect(await again.result()).toMatchObject({ state: 'certified' });
  });
});

describe('odd answers on the way', () => {
  it.each<[FaultInput['operation'], FaultInput['kind'], Partial<FaultInput>, string]>([
    ['status', 'unknown-status-word', { times: 2 }, 'certified'],
    ['status', 'html-body', { status: 404, times: 2 }, 'certified'],
    ['status', 'html-body', { status: 422, times: 2 }, 'certified'],
    ['push-irm', 'failed-ack', { statusKnown: true, outcome: 'Processed' }, 'certified'],
    ['status', 'stale-status', { times: 2 }, 'certified'],
    ['status', 'errored-empty', { times: 1 }, 'certified'],
    ['status', 'errored-empty', { times: 9 }, 'rejected'],
    ['status', 'processed-with-incomplete-list', { times: 99 }, 'certified'],
    ['download-pdf', 'truncated-pdf', { times: 1 }, 'certified'],
    ['download-pdf', 'pdf-not-found', { times: 2 }, 'certified'],
    ['download-pdf', 'odd-pdf', { every: 1 }, 'certified'],
    ['fetch-details', 'empty-details', { times: 4 }, 'certified'],
  ])('%s: %s %p ends %s', async (operation, kind, more, state) => {
    const exporter = await stage.exporter();
    stage.fault(exporter, operation, kind, more);
    const filing = await stage.file(exporter, [stage.mapping(exporter), stage.mapping(exporter)]);
    const done = state === 'certified' ? 2 : 0;
    expect(await filing.result()).toMatchObject({ state, counts: { certified: done, archived: done, open: 0 } });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('an overdue one needs attention, is polled further, and ends as usual', async () => {
    const { filing } = await stage.start([['push-irm', 'accepted-but-invisible', { delayMs: 5 * HOUR_MS }]]);
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified' });
    expect(
      await stage.ledger.select(
        `SELECT e.kind, extract(epoch FROM e.at - s.submitted_at)::float8 / 3600 AS after
         FROM filing_events e JOIN submission_progress s USING (filing_id) WHERE filing_id = $1 AND kind = 'overdue'`,
        result.filingId,
      ),
    ).toEqual([{ kind: 'overdue', after: expect.closeTo(3, 2) as number }]);
    // The watchdog's one timer looks a few times, and is not set anew with each move.
    const { events } = await filing.fetchHistory();
    const timers = (events ?? []).filter((event) => event.timerStartedEventAttributes);
    expect(timers.length).toBeLessThanOrEqual(5);
  });
});

it('keeps its outcome, and records the failure, when its workbook cannot be annotated', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'status', 'errored-empty', { times: 9 });
  const mapping = stage.mapping(exporter);
  const inputRef = await saveInput(stage.ledger.pool, {
    rows: [{ row: 2, mapping }],
    sourceKind: 'workbook',
    sourceDocument: 'lost.xlsx',
  });
  const filing = await stage.file(exporter, [mapping], {
    inputRef,
    message: undefined,
    uploadType: 101,
    declaration: 'Y',
    channel: 'push',
  });
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'rejected', counts: { errored: 1 } });
  const story = await stage.story(result.filingId);
  expect(story.indexOf('not_annotated')).toBeGreaterThan(story.indexOf('rejected'));
});

it('ends partly certified; a correction files the errored rows alone, and closes the questions that ask for one', async () => {
  const exporter = await stage.exporter();
  const rows = [stage.mapping(exporter), stage.mapping(exporter)];
  await stage.reject(rows[1]?.sbCumInvoiceNumber);
  misread(exporter);
  const filing = await stage.file(exporter, rows, { reference: 'PARTLY' });
  const parent = await filing.result();
  expect(parent).toMatchObject({ state: 'partly_certified', counts: { certified: 1, archived: 1, errored: 1 } });
  expect((await stage.view(parent)).rows[1]).toMatchObject({ state: 'needs_correction', errors: ['ERR28: date'] });
  const kinds = async () => (await stage.view(parent)).questions.map(({ kind }) => kind);
  expect(await kinds()).toEqual(['needs_correction', 'upload_mismatch']);
  const message = messageOf([{ ...stage.mapping(exporter), ...rows[1], serialNo: 2 }]);
  const correction = { reference: 'PARTLY', n: 2, corrects: parent.filingId ?? '', message };
  const child = await (await stage.file(exporter, [], correction)).result();
  expect(child).toMatchObject({ state: 'certified', attention: null, counts: { rows: 1, certified: 1 } });
  const corrected = await stage.view(parent);
  expect(corrected.rows.map((row) => row.state)).toEqual(['certified', 'corrected']);
  expect(corrected.counts).toMatchObject({ errored: 1, corrected: 1 });
  expect(await kinds()).toEqual(['upload_mismatch']);
});

it('is corrected a second time with the same whole file: what an earlier filing certified is left out', async () => {
  const exporter = await stage.exporter();
  const rows = [1, 2, 3].map((serialNo) => ({ ...stage.mapping(exporter), serialNo }));
  await stage.reject(rows[1]?.sbCumInvoiceNumber, 2);
  await stage.reject(rows[2]?.sbCumInvoiceNumber);
  const first = await (await stage.file(exporter, rows, { reference: 'TWICE' })).result();
  expect((await stage.view(first)).actions).toEqual(['correct']);
  const correct = async (filing: string, billNo: string, of = rows) => {
    const changed = of.map((row) => (row.serialNo > 1 ? { ...row, billNo: `${billNo}/${row.serialNo}` } : row));
    const correction = { filing, source: { message: messageOf(changed) }, madeBy: 'asha' };
    const { filing: made } = await operationsOf(stage).correct(correction, { wait: true });
    return [made.n, made.state, made.counts.rows, ...made.warnings.map((each) => (each as Finding).code)];
  };
  expect(await correct('TWICE', 'A', rows.slice(1, 2))).toEqual([2, 'rejected', 1]);
  // A row that waits in the first filing would not be filed with the second one's.
  const waits = expect.stringContaining(`ebrc correct ${first.filingId}`) as string;
  await expect(correct('TWICE', 'B')).rejects.toMatchObject({ errors: [{ row: 3, message: waits }] });
  expect(await correct(first.filingId ?? '', 'B')).toEqual([3, 'certified', 1]);
  // What was refused may be filed as it is: the reason may be gone.
  expect(await correct('TWICE#2', 'A')).toEqual([4, 'certified', 1, 'unchanged']);
  expect((await stage.view(first)).actions).toEqual([]);
});

it('keeps a question when it ends, until somebody acknowledges it', async () => {
  const exporter = await stage.exporter();
  misread(exporter);
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const result = await filing.result();
  expect(result).toMatchObject({
    state: 'certified',
    attention: expect.stringContaining('read other rows than were sent') as string,
  });
  const view = await stage.view(result);
  expect(view).toMatchObject({
    needsAttention: true,
    questionCount: 1,
    questions: [{ kind: 'upload_mismatch', actions: ['acknowledge'], attemptId: null }],
  });
  expect(await asking()).toContain(result.filingId);
  const [question] = view.questions;
  const said = { mode: 'test', id: question?.id ?? '', by: 'ravi', note: 'compared', at: new Date() };
  expect(await acknowledgeFinding(stage.ledger.pool, said)).toMatchObject({ kind: 'upload_mismatch' });
  expect(await stage.view(result)).toMatchObject({ needsAttention: false, attention: null, questions: [] });
  expect(await asking()).not.toContain(result.filingId);
});

it('is not answered by what was refused because the filing had changed', async () => {
  const { exporter, filing } = await stage.lost('drop-before-accept');
  await stage.pass(0.02);
  const { filingId } = await stage.until(filing, isAsked);
  const { pool } = stage.ledger;
  await pool.query('UPDATE filings SET seq = seq + 1 WHERE filing_id = $1', [filingId]);
  const refused = { cause: { message: expect.stringMatching(/has changed in the meantime/u) as string } };
  await expect(stage.resolve(filing, 'not-filed', undefined, { by: 'meera' })).rejects.toMatchObject(refused);
  await stage.pass(0.02);
  await eventually(async () => (await stage.story(filingId)).includes('taken_up'));
  expect(stage.pushes(exporter)).toBe(1);
  await stage.resolve(filing, 'not-filed');
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  const { rows } = await pool.query<{ who: string }>(
    `SELECT who FROM filing_events WHERE filing_id = $1 AND kind = 'resolved'`,
    [filingId],
  );
  expect(rows).toEqual([{ who: 'ravi' }]);
});

describe('people', () => {
  it('cancel before the submission and leave nothing behind', async () => {
    const exporter = await stage.exporter();
    const rows = [stage.mapping(exporter)];
    const filing = await stage.file(exporter, rows, { approval: true });
    await stage.until(filing, 'awaiting_approval');
    // A signal that cannot be read stands in the history for ever: it must not stop the filing.
    await filing.signal('credentialsRenewed');
    await filing.cancel();
    expect(await filing.result()).toMatchObject({ state: 'abandoned', counts: { open: 0 } });
    const again = await stage.file(exporter, rows);
    expect(await again.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('waits for credentials wherever it is, and resumes by itself when they are renewed', async () => {
  const { exporter, filing } = await stage.start([['push-irm', 'password-expired', { newPassword: 'New-Horse-2!' }]]);
  await stage.until(filing, 'needs_credentials');
  expect(stage.sandbox.calls({ operation: 'push-irm' }).at(-1)?.errorCode).toBe('DGFT_CREDENTIALS_INVALID');
  await stage.renewCredentials(exporter, 'New-Horse-2!');
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(stage.pushes(exporter)).toBe(2);
});

const dueAtOf = async (filingId: string | null) => (await needFiling(stage.ledger.pool, filingId ?? '')).dueAt;
const isLooked = async (filing: Filing, looks: number) => {
  const { filingId } = await stage.view(filing);
  return (await stage.story(filingId)).filter((kind) => kind === 'activation_pending').length >= looks;
};

describe('a wait for API access', () => {
  it('that only the push reports has its deadline from the first look, which a new run keeps', async () => {
    const { filing } = await stage.start([['push-irm', 'activation-pending', { every: 1 }]]);
    const { filingId } = await stage.until(filing, ({ filingId: id }) => id !== null);
    while (!(await isLooked(filing, 1))) await stage.pass(0.01);
    const due = await dueAtOf(filingId);
    expect(due).not.toBeNull();
    await stage.pass(1);
    expect(await isLooked(filing, 3)).toBe(true);
    expect(await dueAtOf(filingId)).toBe(due);
    await stage.untilAsleep(filing);
    await filing.terminate();
    const resumed = await stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
      workflowId: filing.workflowId,
      taskQueue: stage.worker.taskQueue,
      args: [resumeInput(await needFiling(stage.ledger.pool, filingId ?? ''))],
    });
    await stage.until(resumed, 'submitting');
    expect(await dueAtOf(filingId)).toBe(due);
    expect((await stage.view(resumed)).needsAttention).toBe(false);
    await stage.pass(2.1);
    expect(await stage.env.currentTimeMs()).toBeGreaterThan(due ?? Infinity);
    const asking = await stage.until(resumed, ({ attention }) => attention !== null);
    expect(asking).toMatchObject({ state: 'submitting', attention: expect.stringMatching(/API access/u) as string });
    // The wait goes on, and what was asked stays.
    await stage.pass(1);
    expect(await stage.view(resumed)).toMatchObject({ state: 'submitting', needsAttention: true });
    stage.sandbox.clearFaults();
    expect(await resumed.result()).toMatchObject({ state: 'certified', attention: null });
  });

  it('that is put off at the authority has its deadline from the time that was named first', async () => {
    const exporter = await stage.exporter();
    const connection = (await stage.sandbox.state()).customers.get(exporter.exporterId)?.connection;
    if (!connection) throw new Error('the client is not validated');
    const opens = (await stage.env.currentTimeMs()) + HOUR_MS;
    connection.activatesAt = opens;
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, ({ filingId: id }) => id !== null);
    while (!(await isLooked(filing, 1))) await stage.pass(0.01);
    connection.activatesAt = opens + 20 * HOUR_MS;
    await stage.pass(3);
    expect(await isLooked(filing, 2)).toBe(true);
    expect((await stage.view(filing)).needsAttention).toBe(false);
    await stage.pass(1.5);
    await stage.until(filing, ({ attention }) => attention?.includes('API access') ?? false);
    expect(await stage.view(filing)).toMatchObject({ state: 'checking', needsAttention: true });
    connection.activatesAt = 0;
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', attention: null });
    expect((await stage.story(filingId)).filter((kind) => kind === 'not_moving')).toHaveLength(1);
  });
});

it('waits for our own access, does not blame the exporter, and continues when it is restored', async () => {
  const { exporter, filing } = await stage.filed('processing');
  await stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked: true });
  await stage.pass(1.5);
  const paused = await stage.until(filing, 'needs_access');
  expect(paused.attention).toMatch(/Invalid API key\. This is about .*EBRC_API_KEY/u);
  const stranger = await stage.file({ ...exporter, exporterId: 'nobody' }, [stage.mapping(exporter)]);
  await stage.until(stranger, 'needs_access');
  await stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked: false });
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(await stranger.result()).toMatchObject({ state: 'refused', errors: [{ code: 'exporter_unknown' }] });
  const { currentDetails } = await stranger.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  expect(currentDetails).toMatch(/^\*\*refused\*\*: (?!.*Waits for)/su);
});

it('is overdue only once it is back from a pause that outlasts its time', async () => {
  const { filing } = await stage.start([['push-irm', 'accepted-but-invisible', { delayMs: 6 * HOUR_MS }]]);
  await stage.until(filing, 'processing');
  await stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked: true });
  await stage.pass(4);
  const { filingId } = await stage.until(filing, 'needs_access');
  await stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked: false });
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  const story = await stage.story(filingId);
  expect(story.filter((kind) => kind === 'overdue')).toHaveLength(1);
  expect(story[story.indexOf('overdue') - 1]).toBe('resumed');
});

it('pauses for a locked account after the send, and continues with credentials that work', async () => {
  const { exporter, filing } = await stage.filed('processing');
  await stage.control('PATCH', `/accounts/${exporter.username}`, { locked: true });
  await stage.pass(2);
  const paused = await stage.until(filing, 'needs_credentials');
  expect(paused.requestId).toBeTruthy();
  await stage.control('PATCH', `/accounts/${exporter.username}`, { locked: false, password: 'Unlocked-Horse-3!' });
  await stage.renewCredentials(exporter, 'Unlocked-Horse-3!');
  expect(await filing.result()).toMatchObject({ state: 'certified', requestId: paused.requestId });
  expect(stage.pushes(exporter)).toBe(1);
});

it('still waits for the answer that it asked for once its credentials work again', async () => {
  const { exporter, filing } = await stage.lost('drop-before-accept');
  await stage.pass(0.02);
  await stage.until(filing, ({ asked }) => asked);
  await stage.untilAsleep(filing);
  await stage.control('PATCH', `/accounts/${exporter.username}`, { locked: true });
  await stage.pass(0.02);
  await stage.until(filing, 'needs_credentials');
  await stage.control('PATCH', `/accounts/${exporter.username}`, { locked: false, password: 'Unlocked-Horse-3!' });
  await stage.renewCredentials(exporter, 'Unlocked-Horse-3!');
  await stage.pass(0.02);
  const { asked, attention } = await stage.until(filing, 'outcome_unknown');
  expect({ asked, attention }).toEqual({ asked: true, attention: (await stage.view(filing)).attention });
  expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
});

it('may be given up while it is overdue; what was sent stays live', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'status', 'stale-status', { every: 1 });
  const rows = [stage.mapping(exporter)];
  const filing = await stage.file(exporter, rows);
  await stage.until(filing, 'processing');
  stage.fault(exporter, 'fetch-details', 'empty-details', { every: 1 });
  await stage.pass(4);
  await stage.until(filing, 'overdue');
  expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
  expect((await stage.view(filing)).rows).toMatchObject([{ state: 'abandoned_after_send' }]);
  const again = await stage.file(exporter, rows);
  expect(await again.result()).toMatchObject({ filingId: null, errors: [{ code: 'mapping_live' }] });
  expect(stage.pushes(exporter)).toBe(1);
});

it('refuses a resolve while only PDFs are missing, instead of keeping it', async () => {
  const { filing } = await stage.start([['download-pdf', 'html-body', { status: 413, every: 1 }]]);
  await stage.until(filing, 'processing');
  await stage.pass(6);
  const { filingId, requestId } = await stage.until(filing, 'overdue');
  const named = { attemptId: `${filingId}-1-1` };
  await expect(stage.resolve(filing, 'filed', requestId ?? '', named)).rejects.toMatchObject({
    cause: { message: expect.stringContaining('only certificates are missing') as string },
  });
  stage.sandbox.clearFaults();
  const { rows } = await filing.result();
  expect(rows).toMatchObject([{ state: 'certified', document: expect.any(String) as string }]);
  const again = `SELECT text FROM filing_events WHERE filing_id = $1 AND kind = 'collecting_again'`;
  const told = expect.stringMatching(`^PDF of ${rows[0]?.eBRCNumber}: `) as string;
  expect((await stage.ledger.select(again, filingId))[0]).toEqual({ text: told });
});

it('still gets the PDFs of what is certified when it is given up, and what is rejected can be corrected', async () => {
  const exporter = await stage.exporter();
  const rows = [stage.mapping(exporter), stage.mapping(exporter)];
  await stage.reject(rows[1]?.sbCumInvoiceNumber);
  stage.fault(exporter, 'download-pdf', 'pdf-not-found', { every: 1 });
  const filing = await stage.file(exporter, rows);
  await stage.until(filing, 'processing');
  await stage.pass(2);
  await stage.until(filing, 'collecting');
  expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned', counts: { certified: 1, archived: 0 } });
  await filing.result();
  stage.sandbox.clearFaults();
  const alone = stage.env.client.workflow.getHandle(`${filing.workflowId}/certificates/alone`);
  expect(await alone.result()).toMatchObject({ archived: 1, failure: null });
  const { counts, actions } = await stage.view(filing);
  expect({ counts, actions }).toMatchObject({
    counts: { certified: 1, archived: 1, errored: 1 },
    actions: ['correct'],
  });
});
