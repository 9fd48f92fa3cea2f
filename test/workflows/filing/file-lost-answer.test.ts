import { eventually } from '../../support/processes';
import type { FilingResult } from '../../../src/domain/contracts';
import type { FaultInput } from '../../../src/sandbox/faults/fault-schema';
import type { Filing, TestExporter } from './filing-stage';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

const stage = useFilingStage(QUICK_AUTHORITY);

type PushFault = [FaultInput['kind'], Partial<FaultInput>?];

interface Scene {
  name: string;
  exporter: TestExporter;
  filing: Filing;
}

/** One filing for each fault of its push, all of them at once. */
function scenes(faults: PushFault[]): Promise<Scene[]> {
  return Promise.all(
    faults.map(async ([kind, more]) => {
      const exporter = await stage.exporter();
      stage.fault(exporter, 'push-irm', kind, more);
      return { name: kind, exporter, filing: await stage.file(exporter, [stage.mapping(exporter)]) };
    }),
  );
}

/**
 * Lets the server's clock pass until an answer is there: the service is looked at a few times before, over half a
 * minute.
 */
async function passUntil<T>(answer: Promise<T>): Promise<T> {
  let waiting = true;
  const answered = answer.finally(() => (waiting = false));
  while (waiting) await Promise.all([stage.pass(0.01), new Promise((resolve) => setTimeout(resolve, 50))]);
  return answered;
}

/** By the name of each scene's fault, so that a failure says which. */
function expectAllCertified(made: Scene[], results: FilingResult[]): void {
  const states = Object.fromEntries(made.map(({ name }, at) => [name, results[at]?.state]));
  expect(states).toEqual(Object.fromEntries(made.map(({ name }) => [name, 'certified'])));
}

// The first test, because a day passes in it, with hourly looks of every filing that is open in the stage.
it('asks for a certificate that is no PDF with growing pauses, and for the others meanwhile', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'download-pdf', 'not-a-pdf', { times: 5 });
  const rows = Array.from({ length: 7 }, () => stage.mapping(exporter));
  const result = await (await stage.file(exporter, rows)).result();
  expect(result).toMatchObject({ state: 'certified', counts: { archived: 7 } });
  const asked = () =>
    stage.sandbox.calls({ operation: 'download-pdf' }).filter((call) => call.platformCustomerId === exporter.exporterId)
      .length;
  expect(asked()).toBe(12);

  // One that is refused for hours is asked for a few times, not every half minute.
  stage.fault(exporter, 'download-pdf', 'not-a-pdf', { every: 1 });
  const stuck = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.pass(24);
  expect(asked() - 12).toBeGreaterThanOrEqual(8);
  expect(asked() - 12).toBeLessThanOrEqual(20);
  stage.sandbox.clearFaults();
  expect(await stuck.result()).toMatchObject({ state: 'certified', counts: { archived: 1 } });
});

describe('a submission that the service took, and whose answer was lost', () => {
  const faults: PushFault[] = [
    ['accept-then-drop'],
    ['hang', { process: true }],
    ['502-with-code', { process: true }],
    ['html-body', { status: 200 }],
    ['truncated-json'],
  ];

  it('is never sent again, and settled by its certificates alone', async () => {
    const made = await scenes(faults.map(([kind, more]) => [kind, more]));
    const results = await stage.results(made.map(({ filing }) => filing));
    expectAllCertified(made, results);
    expect(made.map(({ exporter }) => stage.pushes(exporter))).toEqual(faults.map(() => 1));
    for (const result of results) {
      expect(result).toMatchObject({ requestId: null, counts: { certified: 1, archived: 1, open: 0 } });
      expect(await stage.story(result.filingId)).toContain('outcome_unknown');
      expect((await stage.view(result)).evidence).toMatchObject({ openRows: 0, problem: null });
    }
  });

  it('is found by a person before its certificates appear', async () => {
    const { exporter, filing } = await stage.start([['push-irm', 'accept-then-drop']]);
    const waiting = await stage.until(filing, 'outcome_unknown');
    expect(waiting.attention).toContain('not known whether submission 1 was filed');
    await expect(stage.resolve(filing, 'filed')).rejects.toMatchObject({ cause: { message: /request id/u } });
    const mistyped = expect(stage.resolve(filing, 'filed', 'REQ-MISTYPED')).rejects.toMatchObject({
      cause: { message: /does not know request REQ-MISTYPED/u },
    });
    await passUntil(mistyped);
    const [requestId] = await stage.requestsOf(exporter);
    expect(await stage.resolve(filing, 'filed', requestId)).toMatchObject({ requestId });
    expect(await filing.result()).toMatchObject({ state: 'certified', requestId });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('is not sent again on the word of a person who looked before its certificates appeared', async () => {
    const { exporter, filing } = await stage.start([
      ['push-irm', 'accept-then-drop'],
      ['fetch-details', 'empty-details', { times: 1_000 }],
    ]);
    await stage.until(filing, 'outcome_unknown');
    await stage.pass(0.2);
    await stage.until(filing, 'outcome_unknown');
    stage.sandbox.clearFaults();
    await stage.settleWindowOver(filing);
    await expect(stage.resolve(filing, 'not-filed')).rejects.toMatchObject({
      cause: { message: /every row has its certificate/u },
    });
    expect(await filing.result()).toMatchObject({ state: 'certified', counts: { certified: 1, archived: 1 } });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('reports to a person at once that the service cannot be queried, without waiting for credentials', async () => {
    const { exporter, filing } = await stage.lost('drop-before-accept');
    await stage.settleWindowOver(filing);
    stage.fault(exporter, 'fetch-details', 'account-locked');
    const refused = expect(stage.resolve(filing, 'not-filed')).rejects.toMatchObject({
      cause: { message: /cannot be looked at now .*locked.* a second person/u },
    });
    await passUntil(refused);
    expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('ends although a person answers while its certificates are being found', async () => {
    const { exporter, filing } = await stage.start([
      ['push-irm', 'accept-then-drop'],
      ['fetch-details', 'slow', { delayMs: 1_500, skip: 2, times: 1 }],
    ]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    const [requestId] = await stage.requestsOf(exporter);
    // Of the fetches, the first is the snapshot and the second the first round; the third finds the certificate.
    const fetches = () =>
      stage.sandbox
        .calls({ operation: 'fetch-details' })
        .filter((call) => call.platformCustomerId === exporter.exporterId).length;
    const passing = stage.pass(0.25);
    await stage.until(filing, () => fetches() === 3);
    expect(await stage.resolve(filing, 'filed', requestId)).toMatchObject({ filingId });
    await passing;
    expect(await filing.result()).toMatchObject({ state: 'certified' });
  });
});

describe('a submission whose answer was lost, and which never came to be', () => {
  const faults: PushFault[] = [['drop-before-accept'], ['502-with-code'], ['500']];

  it('is never sent again automatically, and once when a person answers not filed', async () => {
    const made = await scenes(faults);
    await Promise.all(made.map(({ filing }) => stage.until(filing, 'outcome_unknown')));
    expect(made.map(({ exporter }) => stage.pushes(exporter))).toEqual(faults.map(() => 1));
    await Promise.all(made.map(({ filing }) => stage.settleWindowOver(filing)));
    await Promise.all(made.map(({ filing }) => stage.resolve(filing, 'not-filed')));
    const results = await stage.results(made.map(({ filing }) => filing));
    expectAllCertified(made, results);
    expect(made.map(({ exporter }) => stage.pushes(exporter))).toEqual(faults.map(() => 2));
  });
});

it('sends nothing again of a submission of which one row has its certificate, whatever a person answers', async () => {
  const exporter = await stage.exporter();
  const rows = [stage.mapping(exporter), stage.mapping(exporter)];
  await stage.reject(rows[1]?.sbCumInvoiceNumber);
  stage.fault(exporter, 'push-irm', 'accept-then-drop');
  const filing = await stage.file(exporter, rows);
  await stage.until(filing, 'outcome_unknown');
  await stage.pass(0.5);
  // Within the window the balance could have been used by the other row.
  expect((await stage.view(filing)).rows).toMatchObject([{ state: 'unknown' }, { state: 'unknown' }]);
  await stage.settleWindowOver(filing);
  await stage.pass(0.5);
  expect((await stage.view(filing)).rows).toMatchObject([{ state: 'certified' }, { state: 'unknown' }]);
  // Its PDF does not wait for the answer about the other row.
  await stage.pass(4);
  await eventually(async () => (await stage.view(filing)).counts.archived === 1);
  await stage.resolve(filing, 'not-filed');
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'partly_certified', counts: { certified: 1, archived: 1, errored: 1 } });
  expect((await stage.view(filing)).rows).toMatchObject([
    { state: 'certified' },
    { state: 'needs_correction', errors: [expect.stringContaining('not filed, says ravi')] },
  ]);
  expect(stage.pushes(exporter)).toBe(1);
});

it('asks a person which of two certificates of one amount is whose, where the rows are of two remittances', async () => {
  const exporter = await stage.exporter();
  const row = stage.mapping(exporter);
  // One document settled by two remittances of the same amount: nothing in fetch-details tells the certificates apart.
  const { irms } = await stage.account(exporter);
  const irmNumber = `${exporter.irmNumber}B`;
  irms.push(...irms.map((irm) => ({ ...irm, irmNumber })));
  stage.fault(exporter, 'push-irm', 'accept-then-drop');
  const filing = await stage.file(exporter, [row, { ...row, irmNumber }]);
  await stage.until(filing, 'outcome_unknown');
  await stage.pass(0.5);
  expect((await stage.view(filing)).evidence).toMatchObject({
    openRows: 2,
    adopted: [],
    ambiguous: [{ positions: [0, 1], candidates: [expect.any(String), expect.any(String)] }],
  });
  const isAsked = ({ attention }: FilingResult) => attention?.includes('Was submission') ?? false;
  await stage.pass(4);
  const { attention } = await stage.until(filing, isAsked);
  expect(attention).toContain(
    '--as filed --request-id R --note TEXT, or --certificate ROW=NUMBER --note TEXT (two persons',
  );
  const [requestId] = await stage.requestsOf(exporter);
  await stage.resolve(filing, 'filed', requestId);
  expect(await filing.result()).toMatchObject({ state: 'certified', counts: { certified: 2 } });
  expect(stage.pushes(exporter)).toBe(1);
});

it('learns what became of the other submissions of its filing', async () => {
  const exporter = await stage.exporter();
  const rows = Array.from({ length: 1_000 }, () =>
    stage.mapping(exporter, { mappedIRMAmountFCC: 1, sbCumInvoiceValueinFCC: 1 }),
  );
  stage.fault(exporter, 'push-irm', 'drop-before-accept', { skip: 1 });
  const filing = await stage.file(exporter, rows, { channel: 'push' });
  await stage.until(filing, 'outcome_unknown');
  await stage.pass(0.5);
  expect(await stage.view(filing)).toMatchObject({
    state: 'outcome_unknown',
    counts: { certified: 999, open: 1 },
    submissions: [
      { rowCount: 999, state: 'settled', ackStatus: 'Validated' },
      { rowCount: 1, state: 'planned' },
    ],
  });
  const { filingId, rows: shown, moreRows } = await stage.until(filing, 'outcome_unknown');
  expect(shown).toHaveLength(200);
  expect(moreRows).toContain(`the first 200 of 1000: GET /v1/filings/${filingId}/rows`);
});

it('is asked about first where the request that a person named for it leaves a row without an outcome', async () => {
  const exporter = await stage.exporter();
  const rows = Array.from({ length: 1_000 }, () =>
    stage.mapping(exporter, { mappedIRMAmountFCC: 1, sbCumInvoiceValueinFCC: 1 }),
  );
  await stage.reject(rows[1]?.sbCumInvoiceNumber);
  stage.fault(exporter, 'push-irm', 'accept-then-drop');
  stage.fault(exporter, 'push-irm', 'drop-before-accept', { skip: 1 });
  const filing = await stage.file(exporter, rows, { channel: 'push' });
  const { filingId } = await stage.until(filing, 'outcome_unknown');
  const [request] = await stage.requestsOf(exporter);
  await stage.resolve(filing, 'filed', request);
  await stage.until(filing, ({ attention }) => attention?.includes('whether submission 2 was filed') ?? false);
  await stage.pass(0.5);
  await stage.until(filing, ({ attention }) => attention?.includes('ubmission 1') ?? false);
  expect(await stage.view(filing)).toMatchObject({ attempt: `${filingId}-1-1`, counts: { certified: 998, open: 2 } });
});

it.each(['hostile-texts', 'odd-empties'] as const)('certifies a filing although every answer has %s', async (kind) => {
  const exporter = await stage.exporter();
  stage.fault(exporter, '*', kind, { every: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter), stage.mapping(exporter)]);
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', counts: { rows: 2, certified: 2, archived: 2 } });
  expect([result.requestId]).toEqual(await stage.requestsOf(exporter));
  const view = await stage.view(filing);
  expect(JSON.stringify(view)).not.toMatch(/\\u0000|\\ud800/u);
  expect(view.rows.every((row) => row.eBRCNumber && row.sha256)).toBe(true);
  expect(stage.pushes(exporter)).toBe(1);
  const { events = [] } = await filing.fetchHistory();
  expect(Math.max(...(events ?? []).map((event) => JSON.stringify(event).length))).toBeLessThan(60_000);
});

it('shows what people and the service wrote as words, not as Markdown', async () => {
  const exporter = await stage.exporter();
  const marked = (name: string) => `![${name}](https://evil.example/x.png) **${name}**\u202e`;
  const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true, madeBy: marked('maker') });
  await stage.until(filing, 'awaiting_approval');
  const { currentDetails } = await filing.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  expect(currentDetails).toContain('maker');
  await stage.approve(filing, marked('checker'));
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  const { events } = await filing.fetchHistory();
  const summaries = events?.map(({ userMetadata }) => Buffer.from(userMetadata?.summary?.data ?? []).toString()) ?? [];
  const approved = summaries.find((summary) => summary.includes('checker'));
  for (const shown of [currentDetails, JSON.parse(approved ?? '') as string]) {
    expect(shown).not.toMatch(/(?<!\\)[[*](maker|checker)|https:\/\/evil|\u202e/u);
  }
});
