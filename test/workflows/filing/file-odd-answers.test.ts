import type { FaultInput } from '../../../src/sandbox/faults/fault-schema';
import { MINUTE_MS, openFilingStage, type FilingStage } from './filing-stage';

let stage: FilingStage;
jest.setTimeout(120_000);

beforeAll(async () => {
  stage = await openFilingStage({ sandbox: { ackDelayMs: 2 * MINUTE_MS } });
});
afterAll(() => stage?.close());

/** Files two rows while every answer of a kind is odd. */
async function file(faults: FaultInput[]) {
  const exporter = await stage.exporter();
  for (const fault of faults) stage.sandbox.addFault({ match: { platformCustomerId: exporter.exporterId }, ...fault });
  const filing = await stage.file(exporter, [stage.mapping(exporter), stage.mapping(exporter)]);
  const result = await filing.result();
  return { exporter, filing, result, view: await stage.view(filing) };
}

/** The largest payload that the history carries, in bytes. */
async function largestEvent(filing: Awaited<ReturnType<FilingStage['file']>>): Promise<number> {
  const { events } = await filing.fetchHistory();
  return Math.max(...(events ?? []).map((event) => JSON.stringify(event).length));
}

it.each(['hostile-texts', 'odd-empties'] as const)('certifies a filing although every answer has %s', async (kind) => {
  const { exporter, filing, result, view } = await file([{ operation: '*', kind, every: 1 }]);
  expect(result).toMatchObject({ state: 'certified', counts: { rows: 2, certified: 2, archived: 2 } });
  expect([result.requestId]).toEqual(await stage.requestsOf(exporter));
  expect(JSON.stringify(view)).not.toMatch(/\\u0000|\\ud800/u);
  expect(view.rows.every((row) => row.eBRCNumber && row.sha256)).toBe(true);
  expect(stage.pushes(exporter)).toBe(1);
  expect(await largestEvent(filing)).toBeLessThan(60_000);
});

it('archives a PDF with something before and behind it at the first look', async () => {
  const { exporter, result } = await file([{ operation: 'download-pdf', kind: 'odd-pdf', every: 1 }]);
  expect(result).toMatchObject({ state: 'certified', counts: { archived: 2 } });
  const asked = stage.sandbox.calls({ operation: 'download-pdf' });
  expect(asked.filter((call) => call.platformCustomerId === exporter.exporterId)).toHaveLength(2);
});

it('asks for a certificate that is no PDF with growing pauses, and for the others meanwhile', async () => {
  const exporter = await stage.exporter();
  const { exporterId: platformCustomerId } = exporter;
  stage.sandbox.addFault({ operation: 'download-pdf', kind: 'not-a-pdf', match: { platformCustomerId }, times: 5 });
  const rows = Array.from({ length: 7 }, () => stage.mapping(exporter));
  const result = await (await stage.file(exporter, rows)).result();
  expect(result).toMatchObject({ state: 'certified', counts: { archived: 7 } });
  const asked = stage.sandbox
    .calls({ operation: 'download-pdf' })
    .filter((call) => call.platformCustomerId === platformCustomerId);
  expect(asked).toHaveLength(12);

  // One that is refused for hours is asked for a few times, not every half minute.
  stage.sandbox.addFault({ operation: 'download-pdf', kind: 'not-a-pdf', match: { platformCustomerId }, every: 1 });
  const stuck = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.pass(24);
  const again = stage.sandbox
    .calls({ operation: 'download-pdf' })
    .filter((call) => call.platformCustomerId === platformCustomerId);
  expect(again.length - asked.length).toBeGreaterThanOrEqual(8);
  expect(again.length - asked.length).toBeLessThanOrEqual(20);
  stage.sandbox.clearFaults();
  expect(await stuck.result()).toMatchObject({ state: 'certified', counts: { archived: 1 } });
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
