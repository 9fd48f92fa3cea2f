/**
 * Ways to file twice, or to take another filing's certificate, that each went through a place that judged by itself.
 */
import { ApplicationFailure } from '@temporalio/common';
import { ApiError } from '../../../src/api/errors/api-error';
import { randomUUID } from 'node:crypto';
import type { Mapping } from '../../../src/domain/filing/mapping';
import { findFiling } from '../../../src/ledger/filings/filings';
import { abandonUpdate, approveUpdate } from '../../../src/workflows/messages';
import { approvalBy } from '../../support/principals';
import { eventually } from '../../support/processes';
import type { FilingStage, TestExporter } from './filing-stage';
import { resetBeforeUpdate } from './resets';
import { operationsOf, useRealServerStage } from './use-filing-stage';

let stage: FilingStage;

// Windows of seconds: the time-skipping server refuses the completion of a task that carries an update now and then.
useRealServerStage((opened) => (stage = opened), { settings: { settleAfterMs: 3_000, overdueAfterMs: 2_000 } });

/** The exporter's account at the authority. */
async function accountOf({ username }: TestExporter) {
  const account = (await stage.sandbox.state()).accounts.find((each) => each.username === username);
  if (!account) throw new Error('no account');
  return account;
}

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
  const { certificates } = await accountOf(exporter);
  const [pattern] = certificates;
  if (!pattern) throw new Error('no certificate to copy');
  const eBRCNumber = `EB${randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()}`;
  certificates.push({ ...pattern, eBRCNumber, ...more });
  return eBRCNumber;
}

/** A submission of the exporter that is none of ours. @returns its request id */
async function pushDirectly({ exporterId }: TestExporter, row: Mapping & { serialNo: number }): Promise<string> {
  const { parsed } = await stage.worker.deps.api.pushIrm(
    {
      platformCustomerId: exporterId,
      recordResCount: 1,
      uploadType: '101',
      decalarationFlag: 'Y',
      ebrcBulkGenDtos: [row],
    },
    { beforeWrite: () => Promise.resolve() },
  );
  return parsed.requestId ?? '';
}

/** The first of two persons' words. */
const noted = (why: RegExp) => ({
  ...{ waitsForPerson: true, secondPerson: true },
  notice: expect.stringMatching(why) as string,
});

const refusedWith = (message: RegExp) => ({ cause: { message: expect.stringMatching(message) as string } });

describe('a failed acknowledgement whose request the service does not know', () => {
  it('frees no row while certificates agree with it that nobody has named', async () => {
    const exporter = await stage.exporter();
    // The service took it, and says Failed under an id that it does not know.
    stage.aroundPush(exporter, async (push, context) => {
      const answer = await push(context);
      return { ...answer, parsed: { ...answer.parsed, requestId: 'REQ-NOBODY', ackStatus: 'Failed' } };
    });
    const rows = [stage.mapping(exporter)];
    const reference = `T-${randomUUID().slice(0, 8)}`;
    const filing = await stage.file(exporter, rows, { reference });
    await stage.until(filing, 'processing');
    await eventually(async () => (await accountOf(exporter)).certificates.length > 0);
    const number = await addForeignCertificate(exporter);
    const waiting = await stage.until(filing, ({ asked }) => asked);
    expect(waiting).toMatchObject({ state: 'outcome_unknown', counts: { open: 1, errored: 0 } });
    expect(waiting.attention).toContain(number);
    // Nobody alone frees it either, and the row cannot be filed again beside it.
    await expect(stage.resolve(filing, 'not-filed')).rejects.toMatchObject(refusedWith(/agree with its rows/u));
    const again = await stage.file(exporter, rows);
    expect((await again.result()).errors).toMatchObject([{ code: 'mapping_live' }]);
    expect(stage.pushes(exporter)).toBe(1);
    await stage.untilAsleep(filing);
    await stage.abandon(filing);
    await filing.result();
  });
});

describe('a second request id', () => {
  it('frees no row when it is Errored, while the first one is still being processed', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'accepted-but-invisible', { delayMs: 6_000, times: 1 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    await stage.until(filing, 'processing');
    const [first] = await stage.requestsOf(exporter);
    // Another submission of the exporter that is none of ours, and that the authority rejects.
    const other = { ...stage.mapping(exporter), serialNo: 1 };
    await fetch(`${stage.sandbox.controlUrl}/outcomes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        match: { document: other.sbCumInvoiceNumber },
        processingStatus: 'Errored',
        errorDetails: ['ERR28: date'],
        times: 1,
      }),
    });
    const second = await pushDirectly(exporter, other);
    await stage.until(filing, 'overdue');
    await stage.resolve(filing, 'filed', second);
    expect(second).not.toBe(first);
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', counts: { certified: 1, errored: 0 } });
    expect((await stage.view(filing)).rows).toMatchObject([{ state: 'certified' }]);
  });
});

it('finds the certificates of an overdue filing whose request never tells its outcome', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'status', 'unknown-status-word', { every: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', counts: { certified: 1, archived: 1 } });
  expect(await stage.story(result.filingId)).toContain('overdue');
});

describe('words of persons', () => {
  it('count for nothing when they came before the settle window was over', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept', { times: 1 });
    stage.fault(exporter, 'fetch-details', 'html-body', { status: 413, every: 1 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    // The window may be over by now on a slow machine.
    const later = `UPDATE attempts SET marked_at = marked_at + interval '1 hour' WHERE filing_id = $1`;
    await stage.ledger.pool.query(later, [filingId]);
    const say = (by: string) => stage.resolve(filing, 'not-filed', undefined, { by, unseen: true });
    await expect(say('ravi')).rejects.toMatchObject(refusedWith(/settle window/u));
    await stage.settleWindowOver(filing);
    const first = refusedWith(/meera is the first to say so/u);
    await expect(say('meera')).rejects.toMatchObject({ cause: { ...first.cause, type: 'second_person' } });
    expect(stage.pushes(exporter)).toBe(1);
    await say('ravi');
    stage.sandbox.clearFaults();
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(2);
  });
});

it('is asked about once more where the service refuses the next send, and frees its rows on a person’s word', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'drop-before-accept', { times: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, 'outcome_unknown');
  await stage.settleWindowOver(filing);
  stage.aroundPush(exporter, async (_, context) => {
    await context.beforeWrite();
    throw new ApiError({ kind: 'validation_failed', operation: 'pushIrm', status: 400, message: 'No such IRM.' });
  });
  await stage.resolve(filing, 'not-filed');
  const { attention } = await stage.until(filing, ({ asked, errors }) => asked && errors.length > 0);
  expect(attention).toContain('its open rows can be corrected then');
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
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'drop-before-accept', { times: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
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
  const exporter = await stage.exporter();
  const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
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

it('is not sent again by one person where no list shows what the authority took, but the balance does', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'fetch-details', 'empty-details', { every: 1 });
  stage.fault(exporter, 'push-irm', 'accept-then-drop', { times: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, 'outcome_unknown');
  await useIsRead(exporter);
  await stage.settleWindowOver(filing);
  await stage.until(filing, ({ attention }) => attention?.includes('Was submission') ?? false);
  const second = {
    cause: { message: expect.stringMatching(/balance of IRM .* fell by/u) as string, type: 'second_person' },
  };
  await expect(stage.resolve(filing, 'not-filed')).rejects.toMatchObject(second);
  expect(stage.pushes(exporter)).toBe(1);
  stage.sandbox.clearFaults();
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(stage.pushes(exporter)).toBe(1);
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
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept', { times: 1 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
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
    const { rows } = await stage.ledger.pool.query('SELECT said_by AS by FROM words WHERE filing_id = $1', [filingId]);
    expect(rows).toEqual([{ by: 'meera' }]);
    await say(filingId, 'ravi', { unseen: true });
    stage.sandbox.clearFaults();
    expect(await again.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(2);
  });

  it('closes a request that one of them had mistyped, of another filing that is still being processed', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept', { times: 1 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    stage.fault(exporter, 'status', 'stale-status', { every: 1 });
    const other = { ...stage.mapping(exporter), serialNo: 1 };
    const requestId = await pushDirectly(exporter, other);
    await operationsOf(stage).resolve(filingId ?? '', { as: 'filed', requestId, by: 'ravi', note: 'mistyped' });
    const { attention } = await stage.until(filing, 'overdue');
    expect(attention).toContain(`--not-ours ${requestId}`);
    await stage.settleWindowOver(filing);
    const notOurs = [requestId];
    expect(await say(filingId, 'ravi', { notOurs })).toMatchObject(noted(/ravi is the first/u));
    await say(filingId, 'meera', { notOurs });
    stage.sandbox.clearFaults();
    expect(await filing.result()).toMatchObject({ state: 'certified', counts: { certified: 1 } });
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
  /** A filing that the service never took, of a document for which a certificate appears all the same. */
  async function fileBesideForeign(more: object) {
    const exporter = await stage.exporter();
    const document = stage.mapping(exporter);
    // A certificate to copy, of another document.
    await (await stage.file(exporter, [stage.mapping(exporter)])).result();
    stage.fault(exporter, 'push-irm', 'drop-before-accept', { times: 1 });
    const filing = await stage.file(exporter, [document]);
    await stage.until(filing, 'outcome_unknown');
    const number = await addForeignCertificate(exporter, {
      sbCumInvoiceNumber: document.sbCumInvoiceNumber,
      sbCumInvoiceDate: document.sbCumInvoiceDate,
      billNo: document.billNo,
      ...more,
    });
    await eventually(async () => (await stage.view(filing)).evidence !== null);
    await stage.until(filing, ({ asked }) => asked);
    return { filing, number };
  }

  it('certify no row whose IRM’s balance is untouched: they are another remittance’s', async () => {
    const { filing, number } = await fileBesideForeign({});
    const view = await stage.view(filing);
    expect(view.rows).toMatchObject([{ state: 'unknown', eBRCNumber: null }]);
    expect(view.evidence).toMatchObject({ contradicted: [{ eBRCNumber: number }] });
    await stage.untilAsleep(filing);
    await stage.abandon(filing);
    await filing.result();
  });

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

  it('certify nothing when they were cancelled', async () => {
    const { filing } = await fileBesideForeign({ eBRCStatus: 'Cancelled' });
    expect((await stage.view(filing)).rows).toMatchObject([{ state: 'unknown', eBRCNumber: null }]);
    await stage.untilAsleep(filing);
    await stage.abandon(filing);
    await filing.result();
  });
});
