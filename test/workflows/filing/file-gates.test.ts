/**
 * Ways to file twice, or to take another filing's certificate, that each went through a place that judged by itself.
 */
import { ApplicationFailure } from '@temporalio/common';
import { ApiError } from '../../../src/api/errors/api-error';
import { randomUUID } from 'node:crypto';
import { findFiling } from '../../../src/ledger/filings/filings';
import { abandonUpdate, approveUpdate } from '../../../src/workflows/messages';
import { approvalBy } from '../../support/principals';
import { eventually } from '../../support/processes';
import type { TestExporter } from './filing-stage';
import { resetBeforeUpdate } from './resets';
import { operationsOf, useRealServerStage } from './use-filing-stage';

// Windows of seconds: the time-skipping server refuses the completion of a task that carries an update now and then.
const stage = useRealServerStage({ settings: { settleAfterMs: 3_000, overdueAfterMs: 2_000 } });

/** Waits until the ledger has read that the authority used something of the exporter's IRM. */
const useIsRead = ({ exporterId }: TestExporter) =>
  eventually(async () => {
    const used = await stage.ledger.pool.query('SELECT FROM irms WHERE exporter_id = $1 AND available < amount', [
      exporterId,
    ]);
    return used.rowCount !== 0;
  });

/** Another certificate for the document of the exporter's newest one, as another remittance would leave it. */
async function addForeignCertificate(exporter: TestExporter, more: object = {}): Promise<string> {
  const { certificates } = await stage.account(exporter);
  const [pattern] = certificates;
  if (!pattern) throw new Error('no certificate to copy');
  const eBRCNumber = `EB${randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()}`;
  certificates.push({ ...pattern, eBRCNumber, ...more });
  return eBRCNumber;
}

const refusedWith = (message: RegExp) => ({ cause: { message: expect.stringMatching(message) as string } });

/** The first of two persons' words. */
const noted = (why: RegExp) => ({
  ...{ waitsForPerson: true, secondPerson: true },
  notice: expect.stringMatching(why) as string,
});

it('finds the certificates of an overdue filing whose request never tells its outcome', async () => {
  const { filing } = await stage.start([['status', 'unknown-status-word', { every: 1 }]]);
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', counts: { certified: 1, archived: 1 } });
  expect(await stage.story(result.filingId)).toContain('overdue');
});

it('lets a person answer for the rows that a request has ended without accounting for', async () => {
  const exporter = await stage.exporter();
  const rows = [stage.mapping(exporter), stage.mapping(exporter)];
  await stage.reject(rows[1]?.sbCumInvoiceNumber);
  const { api } = stage.worker.deps;
  const status = api.status.bind(api);
  api.status = async (...asked) => {
    const record = await status(...asked);
    if (asked[0].platformCustomerId !== exporter.exporterId || record.processingStatus === null) return record;
    return { ...record, recordFailCount: 0, ebrcBulkGenStatusLst: record.ebrcBulkGenStatusLst.slice(0, 1) };
  };
  const filing = await stage.file(exporter, rows);
  const { attention } = await stage.until(filing, 'overdue');
  for (const answer of ['--as not-filed --note TEXT', '--as filed --certificate ROW=NUMBER --note TEXT (two persons'])
    expect(attention).toContain(answer);
  // The window counts from the record's first sight.
  await eventually(() =>
    stage.resolve(filing, 'not-filed').then(
      () => true,
      () => false,
    ),
  );
  expect(await filing.result()).toMatchObject({ state: 'partly_certified', counts: { certified: 1, errored: 1 } });
  api.status = status;
});

it('is asked about once more where the service refuses the next send, and frees its rows on a person’s word', async () => {
  const { exporter, filing } = await stage.lost('drop-before-accept', { times: 1 });
  await stage.settleWindowOver(filing);
  stage.aroundPush(exporter, async (_, context) => {
    await context.beforeWrite();
    throw new ApiError({ kind: 'validation_failed', operation: 'pushIrm', status: 400, message: 'No such IRM.' });
  });
  await stage.resolve(filing, 'not-filed');
  const { attention } = await stage.until(filing, ({ asked, errors }) => asked && errors.length > 0);
  expect(attention).toContain('its open rows can be corrected then');
  const kinds = (await stage.view(filing)).questions.map(({ kind }) => kind);
  expect(kinds.sort()).toEqual(['outcome_unknown', 'refused_after_absent']);
  // The window counts from the newest send.
  await eventually(() =>
    stage.resolve(filing, 'not-filed').then(
      () => true,
      () => false,
    ),
  );
  expect(await filing.result()).toMatchObject({ state: 'needs_correction', counts: { errored: 1 } });
});

it('refuses an answer whose request nobody could ask about in time, and goes on', async () => {
  const { exporter, filing } = await stage.start([['push-irm', 'drop-before-accept', { times: 1 }]]);
  await stage.until(filing, 'outcome_unknown');
  stage.fault(exporter, 'status', 'slow', { delayMs: 20_000, every: 1 });
  const why = /cannot be asked about request REQ-1 now \(lost\)/u;
  const refused = expect(stage.resolve(filing, 'filed', 'REQ-1')).rejects.toMatchObject(refusedWith(why));
  const lost = ApplicationFailure.nonRetryable('lost');
  await eventually(() =>
    stage.giveUpOn(filing, 'knowsRequest', lost).then(
      () => true,
      () => false,
    ),
  );
  await refused;
  await stage.untilAsleep(filing);
  expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
});

it('is given up once: a second abandon is refused while the first is carried out', async () => {
  const { filing } = await stage.start([], { approval: true });
  await stage.until(filing, 'awaiting_approval');
  const say = (by: string) => filing.executeUpdate(abandonUpdate, { args: [{ by, note: 'a mistake' }] });
  stage.database.down = true;
  const said = Promise.allSettled([say('ravi'), say('meera')]);
  await eventually(async () => {
    const { events } = await filing.fetchHistory();
    return events?.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes).length === 2;
  });
  stage.database.down = false;
  const outcomes = await said;
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toMatchObject([{ value: { state: 'abandoned' } }]);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toMatchObject([
    { reason: refusedWith(/given up already/u) },
  ]);
});

it('is not sent again by one person where the balance fell since the last look at it', async () => {
  const exporter = await stage.exporter();
  const hidden = () => stage.fault(exporter, 'fetch-details', 'empty-details', { every: 1 });
  const { api } = stage.worker.deps;
  hidden();
  stage.fault(exporter, 'refresh-irms', 'stale-balance', { every: 1, skip: 1 });
  stage.fault(exporter, 'push-irm', 'accept-then-drop', { times: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.settleWindowOver(filing);
  await stage.until(filing, ({ asked }) => asked);
  stage.sandbox.clearFaults();
  hidden();
  await eventually(async () => {
    await api.refreshIrms(exporter.exporterId);
    for await (const { irmUtilizedAmt } of api.listIrms(exporter.exporterId))
      if (Number(irmUtilizedAmt) > 0) return true;
    return false;
  });
  const second = { cause: { message: expect.stringMatching(/fell by/u) as string, type: 'second_person' } };
  await expect(stage.resolve(filing, 'not-filed')).rejects.toMatchObject(second);
  expect(stage.pushes(exporter)).toBe(1);
});

it('tells who approves a filing that is given up at the same time which of the two it became', async () => {
  const exporter = await stage.exporter();
  const races = await Promise.all(
    [0, 1, 2].map(async () => {
      const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
      const { filingId } = await stage.until(filing, 'awaiting_approval');
      const approval = await approvalBy(stage.ledger.pool, 'ravi', filingId ?? '');
      // The approval comes while the abandon is being recorded.
      const [, approved] = await Promise.allSettled([
        filing.executeUpdate(abandonUpdate, { args: [{ by: 'ravi', note: 'a mistake' }] }),
        filing.executeUpdate(approveUpdate, { args: [approval] }),
      ]);
      await filing.result();
      const recorded = (await findFiling(stage.ledger.pool, 'test', filingId ?? ''))?.approvedBy;
      const { rows: unjudged } = await stage.ledger.pool.query(
        'SELECT kind FROM words w WHERE filing_id = $1 AND NOT EXISTS (SELECT FROM word_judgements j WHERE j.word_id = w.word_id)',
        [filingId],
      );
      expect(unjudged).toEqual([]);
      return { approved: approved.status, recorded };
    }),
  );
  for (const { approved, recorded } of races) expect(recorded).toBe(approved === 'fulfilled' ? 'ravi' : null);
});

describe('what persons say', () => {
  const say = (filingId: string | null, by: string, more: object) =>
    operationsOf(stage).resolve(filingId ?? '', { as: 'not-filed', by, note: 'looked', ...more });
  const refusedFor = (message: RegExp) => ({ message: expect.stringMatching(message) as string });

  it('is recorded once by a run that is reset to before it', async () => {
    const { exporter, filing, filingId } = await stage.lost('drop-before-accept', { times: 1 });
    stage.fault(exporter, 'fetch-details', 'html-body', { status: 413, every: 1 });
    await stage.settleWindowOver(filing);
    expect(await say(filingId, 'meera', { unseen: true })).toMatchObject(noted(/meera is the first/u));
    await stage.untilAsleep(filing);
    const again = await resetBeforeUpdate(stage, filing);
    // It answers the repeated update: that the word stands, or that the ledger knows more than this run does.
    await eventually(async () => {
      const { events } = await again.fetchHistory();
      return events?.some((event) => event.workflowExecutionUpdateCompletedEventAttributes) ?? false;
    });
    // The ledger tells that a person was asked before the run is back at the question.
    await stage.until(again, ({ asked, attempt }) => asked && attempt !== null);
    expect(await stage.ledger.select('SELECT said_by AS by FROM words WHERE filing_id = $1', filingId)).toEqual([
      { by: 'meera' },
    ]);
    await say(filingId, 'ravi', { unseen: true });
    stage.sandbox.clearFaults();
    expect(await again.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(2);
  });

  it('lets rows go out beside certificates that agree with what was treated as not filed', async () => {
    const exporter = await stage.exporter();
    const mapping = stage.mapping(exporter);
    const earlier = await (await stage.file(exporter, [mapping])).result();
    // As an attempt of it left it that was judged before the other one was accepted.
    await stage.ledger.pool.query(
      `INSERT INTO releases (filing_id, submission, ground, released_at) VALUES ($1, 1, 'absent', now())`,
      [earlier.filingId],
    );
    const number = await addForeignCertificate(exporter);
    const filing = await stage.file(exporter, [{ ...mapping, mappedIRMAmountFCC: 500 }]);
    const { filingId, attention } = await stage.until(filing, ({ attention: asks }) => asks !== null);
    expect(attention).toMatch(new RegExp(`${number}.*--not-ours`, 'u'));
    expect((await stage.view(filing)).questions).toMatchObject([{ kind: 'agreeing', actions: ['resolve', 'abandon'] }]);
    const notOurs = [number];
    await expect(say(filingId, 'ravi', {})).rejects.toMatchObject(refusedFor(/two persons have to say so/u));
    expect(await say(filingId, 'ravi', { notOurs })).toMatchObject(noted(/ravi is the first/u));
    expect(stage.pushes(exporter)).toBe(1);
    await say(filingId, 'meera', { notOurs });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(2);
  });
});

describe('certificates of fetch-details', () => {
  /** A filing that was taken, whose certificate shows only once nothing of it is said to have been filed. */
  async function fileShownLate(rest: object = {}) {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'accept-then-drop', { times: 1 });
    const { api } = stage.worker.deps;
    const read = api.fetchDetails.bind(api);
    let released = false;
    api.fetchDetails = async (...args) => {
      const { rowCount } = await stage.ledger.pool.query(
        'SELECT FROM releases JOIN filings USING (filing_id) WHERE exporter_id = $1',
        [exporter.exporterId],
      );
      released ||= rowCount !== 0;
      const answer = await read(...args);
      const certificates = answer.certificates.map((each) => ({ ...each, ...rest }));
      return { ...answer, certificates: released ? certificates : [] };
    };
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    await useIsRead(exporter);
    await stage.settleWindowOver(filing);
    const notFiled = (by: string) =>
      operationsOf(stage).resolve(filingId ?? '', { as: 'not-filed', by, note: 'looked' });
    expect(await notFiled('ravi')).toMatchObject(noted(/fell by 1000 since the send.* ravi is the first/u));
    await notFiled('meera');
    return { exporter, filing, restore: () => (api.fetchDetails = read) };
  }

  it('that show only after “not filed” certify their rows instead of a second send', async () => {
    const { exporter, filing, restore } = await fileShownLate();
    expect(await filing.result()).toMatchObject({ state: 'certified', counts: { certified: 1 } });
    restore();
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('that show only after “not filed” can be named by two persons where nothing else tells whose they are', async () => {
    const { exporter, filing, restore } = await fileShownLate({ realisedValueFCC: 1 });
    const { filingId, attention } = await stage.until(
      filing,
      ({ attention: asks }) => asks?.includes('agree') ?? false,
    );
    const { evidence } = await stage.view(filing);
    const [eBRCNumber = ''] = (evidence as { agreeing?: string[] } | null)?.agreeing ?? [];
    expect(attention).toContain(`--as not-filed --not-ours ${eBRCNumber} --note`);
    expect(attention).toContain(`--as filed --certificate 1=${eBRCNumber}`);
    const say = (by: string) => {
      const certificates = [{ row: 1, eBRCNumber }];
      return operationsOf(stage).resolve(filingId ?? '', { as: 'filed', by, note: 'looked', certificates });
    };
    expect(await say('ravi')).toMatchObject(noted(/somebody else/u));
    await say('meera');
    expect(await filing.result()).toMatchObject({ state: 'certified', counts: { certified: 1 } });
    expect((await stage.view(filing)).rows).toMatchObject([{ eBRCNumber, eBRCDate: expect.any(String) as string }]);
    restore();
    expect(stage.pushes(exporter)).toBe(1);
  });
});
