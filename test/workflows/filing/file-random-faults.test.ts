import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import fc from 'fast-check';
import { isEnd, type FilingState } from '../../../src/domain/filing/states';
import { filingQuery } from '../../../src/workflows/messages';
import type { Filing, TestExporter } from './filing-stage';
import { useRealServerStage } from './use-filing-stage';

jest.setTimeout(300_000);

const stage = useRealServerStage({ settings: { httpTimeoutMs: 2_500, settleAfterMs: 10_000 } });

const processed = fc.boolean();
const pushFault = fc.oneof(
  fc.record({ kind: fc.constantFrom('accept-then-drop', 'accept-then-reset', 'drop-before-accept', 'status-429') }),
  fc.record({ kind: fc.constantFrom('500', '502-bare', '502-with-code', 'html-body', 'hang'), process: processed }),
  fc.record({ kind: fc.constantFrom('truncated-json', 'failed-ack', 'close-after-answer') }),
  fc.record({ kind: fc.constant('failed-ack'), statusKnown: fc.boolean() }),
);
const laterFault = fc.oneof(
  fc.record({
    operation: fc.constant('status'),
    kind: fc.constantFrom('stale-status', 'unknown-status-word', '500', 'errored-empty', 'truncated-json'),
  }),
  fc.record({ operation: fc.constant('download-pdf'), kind: fc.constantFrom('truncated-pdf', 'pdf-not-found', '500') }),
  fc.record({ operation: fc.constant('fetch-details'), kind: fc.constantFrom('empty-details', '502-bare') }),
  fc.record({ operation: fc.constant('refresh-irms'), kind: fc.constantFrom('stale-balance', 'portal-down') }),
);
/** What goes wrong with one filing, and how many rows it has. */
const plan = fc.record({
  rows: fc.integer({ min: 1, max: 3 }),
  push: fc.array(pushFault, { maxLength: 2 }),
  later: fc.array(laterFault, { maxLength: 2 }),
});

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

interface Started {
  exporter: TestExporter;
  filing: Filing;
}

async function start({ rows, push, later }: Plan): Promise<Started> {
  const exporter = await stage.exporter();
  for (const fault of push) stage.sandbox.addFault({ operation: 'push-irm', ...about(exporter), ...fault } as never);
  for (const fault of later) stage.sandbox.addFault({ ...about(exporter), ...fault });
  const mappings = Array.from({ length: rows }, () => stage.mapping(exporter));
  return { exporter, filing: await stage.file(exporter, mappings) };
}

const about = ({ exporterId }: TestExporter) => ({ match: { platformCustomerId: exporterId }, times: 1 });

/** A person who looks at the portal and says truly what is there. */
async function settleTruly({ exporter, filing }: Started): Promise<void> {
  const { filings } = await stage.sandbox.state();
  const requests = [...filings.values()].filter((each) => each.customerId === exporter.exporterId && each.known);
  await stage.resolve(filing, requests.length > 0 ? 'filed' : 'not-filed', requests.at(-1)?.requestId);
}

/** Every filing ends, or says that its outcome is unknown and why; then a person settles it. */
async function look(started: Started): Promise<void> {
  const { state, attention } = await started.filing.query(filingQuery);
  if (state !== 'outcome_unknown') return;
  expect(attention).toBeTruthy();
  // It may settle itself by certificates in this very moment: then there is nothing left to answer, and the answer is
  // refused.
  await settleTruly(started).catch((error: unknown) => expect(error).toBeInstanceOf(WorkflowUpdateFailedError));
}

async function drive(started: Started[]): Promise<FilingState[]> {
  let over = false;
  const results = stage.results(started.map(({ filing }) => filing)).finally(() => (over = true));
  for (; !over; await sleep(1_000)) await Promise.all(started.map(look));
  return (await results).map(({ state }) => state as FilingState);
}

it('files no mapping twice and loses no filing, whatever goes wrong', async () => {
  await fc.assert(
    // All of them at once: most of their time they wait.
    fc.asyncProperty(fc.array(plan, { minLength: 10, maxLength: 10 }), async (plans) => {
      const started = await Promise.all(plans.map(start));
      const ends = await drive(started);
      stage.sandbox.clearFaults();
      expect(ends.filter((state) => !isEnd(state))).toEqual([]);
      for (const { filing, exporter } of started) {
        const view = await stage.view(filing);
        expect(view.counts.open).toBe(0);
        // What the authority certified is what the ledger says, row by row.
        const { certificates } = await stage.account(exporter);
        const known = view.rows.flatMap((row) => row.eBRCNumber ?? []).sort();
        expect(known).toEqual(certificates.map(({ eBRCNumber }) => eBRCNumber).sort());
      }
    }),
    { numRuns: 1, endOnFailure: true },
  );
});
