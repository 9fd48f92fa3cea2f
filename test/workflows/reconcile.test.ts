/**
 * Reconciliation against the sandbox: every kind of finding is seen, healed where it heals, and closed when it is gone.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { Client } from '@temporalio/client';
import type { FilingResult } from '../../src/domain/contracts';
import type { ReconcileInput, ReconcileResult } from '../../src/domain/report-contracts';
import { isoFromFilingDate } from '../../src/domain/dates';
import { noFindings, type FindingView } from '../../src/domain/reconciliation/findings';
import { listFindings } from '../../src/ledger/findings';
import type { reconcile } from '../../src/workflows/reconcile';
import { pdfWith } from '../support/scripted-pdf';
import { QUICK_AUTHORITY, useFilingStage } from '../scenes/use-stage';
import { messageOf } from '../../dev/sample-mapping';
import { clientOf } from '../scenes/acts';
import type { TestExporter } from '../scenes/stage';
import type { fileRemittances } from '../../src/workflows/file-remittances';

const stage = useFilingStage(QUICK_AUTHORITY);

/**
 * A client of its own: while the environment's client waits, the server may skip to the end of a workflow that has no
 * timer, ten years ahead, and a reconciliation has none.
 */
const run = (input: Partial<ReconcileInput> = {}): Promise<ReconcileResult> =>
  new Client({ connection: stage.env.connection }).workflow.execute<typeof reconcile>('reconcile', {
    taskQueue: stage.worker.taskQueue,
    workflowId: `reconcile/${randomUUID()}`,
    args: [{ mode: 'test', ...input }],
  });

const findingsOf = ({ exporterId }: TestExporter, all = false): Promise<FindingView[]> =>
  listFindings(stage.ledger.pool, { mode: 'test', exporters: [exporterId.toLowerCase()], all });

/** The days on which the exporter's certificates were issued: a skipping clock may be far beyond them already. */
async function daysOf(exporter: TestExporter): Promise<{ from: string; to: string }> {
  const days = (await stage.account(exporter)).certificates.map(({ eBRCDate }) => isoFromFilingDate(eBRCDate)).sort();
  return { from: days[0] ?? '', to: days.at(-1) ?? '' };
}

async function filed(exporter: TestExporter, rows = 1): Promise<FilingResult> {
  const mappings = Array.from({ length: rows }, (_, index) => stage.mapping(exporter, { serialNo: index + 1 }));
  const [result] = await stage.results([await stage.file(exporter, mappings)]);
  if (result?.state !== 'certified') throw new Error(`the filing is ${result?.state}`);
  return result;
}

it('finds nothing where both sides agree, and changes nothing when it runs again', async () => {
  const exporter = await stage.exporter();
  await filed(exporter, 2);
  const input = { exporterId: exporter.exporterId, ...(await daysOf(exporter)) };
  const first = await run(input);
  expect(first).toMatchObject({ state: 'done', companies: 1, opened: 0, closed: 0, skipped: [], counts: noFindings() });
  expect(await run(input)).toMatchObject({ opened: 0, closed: 0 });
});

it('asks for every client of an IEC, each of which may be shown its own certificates and remittances alone', async () => {
  const [one, two] = [await stage.exporter({ iec: 'TWOCLIENT1' }), await stage.exporter({ iec: 'TWOCLIENT1' })];
  await filed(one);
  const days = await daysOf(one);
  await filed(two);
  const span = { from: days.from, to: (await daysOf(two)).to };
  for (const { exporterId } of [one, two]) {
    expect(await run({ exporterId, ...span })).toMatchObject({
      companies: 1,
      opened: 0,
      skipped: [],
      counts: noFindings(),
    });
  }
});

it('fetches a missing and a damaged PDF again, and reports it', async () => {
  const exporter = await stage.exporter();
  const filing = await filed(exporter, 2);
  const { documents } = stage.worker.deps;
  // What was whole a moment ago is looked at again.
  const input = { exporterId: exporter.exporterId, checks: ['documents' as const] };
  expect(await run(input)).toMatchObject({ opened: 0, healed: 0 });
  const [missing = '', damaged = ''] = (await stage.view(filing)).rows.map(({ pdf }) => pdf ?? '');
  await rm(documents.pathOf(missing));
  // Whole, and not the certificate all the same: only its hash tells.
  await writeFile(documents.pathOf(damaged), pdfWith('another document'));
  const result = await run(input);
  expect(result).toMatchObject({ opened: 2, closed: 2, healed: 2, counts: { pdf_missing: 0, pdf_damaged: 0 } });
  const findings = await findingsOf(exporter, true);
  expect(findings.map(({ kind, healed }) => [kind, healed]).sort()).toEqual([
    ['pdf_damaged', 'the damaged PDF was set aside and fetched again'],
    ['pdf_missing', 'the PDF was fetched'],
  ]);
  for (const name of [missing, damaged]) {
    const content = (await documents.read(name)).toString('latin1');
    expect(content).toMatch(/^%PDF-/u);
    expect(content).not.toContain('another document');
  }
});

it('goes on without the PDFs of a company of which one cannot be read, and says so', async () => {
  const exporter = await stage.exporter();
  const { documents } = stage.worker.deps;
  const [row] = (await stage.view(await filed(exporter))).rows;
  const path = documents.pathOf(row?.pdf ?? '');
  await rm(path);
  await mkdir(path);
  try {
    const running = run({ exporterId: exporter.exporterId, ...(await daysOf(exporter)) });
    // Until the last try.
    await stage.env.sleep('1m');
    const result = await running;
    expect(result).toMatchObject({ state: 'done', companies: 1, opened: 0 });
    expect(result.skipped).toEqual([
      { exporterId: exporter.exporterId, reason: expect.stringContaining('the stored PDFs') as string },
    ]);
  } finally {
    await rmdir(path);
  }
});

it('continues in a new run where one exporter needs more repairs than a history has room for', async () => {
  const exporter = await stage.exporter();
  const filing = await filed(exporter);
  const account = await stage.account(exporter);
  const [known] = account.certificates;
  if (!known) throw new Error('there is no certificate');
  // A hundred certificates more of the same filing, of whose PDFs the store has none.
  const numbers = Array.from({ length: 100 }, (_, n) => `EBMANY${n}`);
  account.certificates.push(...numbers.map((eBRCNumber) => ({ ...known, eBRCNumber })));
  await stage.ledger.pool.query(
    `WITH known AS (SELECT c.*, r.filing_id FROM certificates c JOIN filing_rows r USING (mode, iec, ebrc_number) WHERE r.filing_id = $1),
       copied AS (
         INSERT INTO certificates (mode, iec, exporter_id, ebrc_number, status, first_status, document_no, document_date, amount, currency,
            detail, asked_at, issued_on, document_key, document_on)
         SELECT mode, iec, exporter_id, n, status, first_status, document_no, document_date, amount, currency, detail, asked_at, issued_on,
            document_key, document_on FROM known, unnest($2::text[]) n)
     INSERT INTO filing_rows (filing_id, position, source_row, mode, iec, mapping, irm_key, document_key, document_on, amount, currency,
        fingerprint, ordinal, state, ebrc_number, certified_by, sent_at, settled_at)
     SELECT r.filing_id, nth, nth, r.mode, r.iec, r.mapping, r.irm_key, r.document_key, r.document_on, r.amount, r.currency,
        r.fingerprint, nth, 'certified', n, 'record', r.sent_at, r.settled_at
       FROM filing_rows r, unnest($2::text[]) WITH ORDINALITY AS more (n, nth) WHERE r.filing_id = $1 AND r.position = 0`,
    [filing.filingId, numbers],
  );
  const result = await run({ exporterId: exporter.exporterId, checks: ['documents'] });
  expect(result).toMatchObject({ companies: 1, healed: 100, opened: 100, closed: 100, counts: { pdf_missing: 0 } });
  const { client } = stage.env;
  const events: number[] = [];
  let runId: string | null | undefined = result.runId;
  while (runId) {
    const { events: history } = await client.workflow.getHandle(result.workflowId, runId).fetchHistory();
    events.push(history?.length ?? 0);
    runId = history?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  expect(events.length).toBeGreaterThan(1);
  expect(Math.max(...events)).toBeLessThan(2_000);
});

it('asks no company that is not ready, names it, and reconciles the others', async () => {
  const ready = await stage.exporter();
  await filed(ready);
  const { exporterId } = await stage.worker.deps.api
    .createCustomer({ name: 'New', email: `${randomUUID()}@example.test` })
    .then(({ id }) => ({ exporterId: id }));
  await stage.worker.deps.pool.query('SELECT 1');
  const result = await run();
  expect(result.companies).toBeGreaterThanOrEqual(2);
  expect(result.skipped.filter((each) => each.exporterId === exporterId)).toEqual([]);
  expect(await run({ exporterId })).toMatchObject({
    companies: 0,
    skipped: [{ exporterId, reason: expect.stringMatching(/onboard/) }],
  });
});

it.each([
  [{ from: '2026-02-30' }, /from: is not a calendar day/],
  [{ from: '2026-03-02', to: '2026-03-01' }, /from: is after `to`/],
  [{ mode: 'live' as const }, /works in test mode/],
])('refuses %j and says why', async (input, message) => {
  await expect(run(input)).rejects.toMatchObject({ cause: { message: expect.stringMatching(message) } });
});

it('finds a filing that is overdue and one whose answer was lost, with both sides, until each has its outcome', async () => {
  const { exporter: late, filing } = await stage.start();
  const { filingId, requestId } = await stage.until(filing, 'processing');
  await stage.ledger.pool.query(`UPDATE attempts SET marked_at = marked_at - interval '5 hours' WHERE filing_id = $1`, [
    filingId,
  ]);
  const overdue = { exporterId: late.exporterId, checks: ['filings' as const] };
  expect(await run(overdue)).toMatchObject({ opened: 1, closed: 0, counts: { filing_overdue: 1 } });
  expect(await findingsOf(late)).toMatchObject([
    {
      kind: 'filing_overdue',
      filingId,
      amount: '1000',
      currency: 'USD',
      ours: { state: 'processing' },
      theirs: { requestId },
      reason: expect.stringMatching(/^no outcome since 2.* IST$/u) as string,
    },
  ]);

  const { exporter: lost, filing: unknown } = await stage.start([['push-irm', 'accept-then-drop']]);
  await stage.until(unknown, 'outcome_unknown');
  const input = { exporterId: lost.exporterId, checks: ['filings' as const] };
  expect(await run(input)).toMatchObject({ opened: 1, counts: { outcome_unknown: 1 } });
  expect(await findingsOf(lost)).toMatchObject([
    { kind: 'outcome_unknown', amount: '1000', ours: { state: 'outcome_unknown' }, theirs: { requestId: null } },
  ]);
  expect(await run(input)).toMatchObject({ opened: 0, closed: 0 });

  for (const { state } of await stage.results([filing, unknown])) expect(state).toBe('certified');
  // The end of a filing closes what was found of its delay.
  expect([...(await findingsOf(late)), ...(await findingsOf(lost))]).toEqual([]);
  expect(await run(overdue)).toMatchObject({ opened: 0, closed: 0 });
  expect(await run(input)).toMatchObject({ opened: 0, closed: 0, counts: { outcome_unknown: 0 } });
});

it('leads from a certificate that was cancelled at the portal to its correction, which a second person approves', async () => {
  const exporter = await stage.exporter();
  const kept = stage.mapping(exporter);
  const wrong = stage.mapping(exporter, { portCode: 'INMAA1' });
  const filing = await stage.file(exporter, [kept, wrong], { reference: 'PORTS' });
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  const client = await clientOf(stage, 'asha');
  const rows = [kept, { ...wrong, portCode: 'INBOM4' }].map((row, at) => ({ ...row, serialNo: at + 1 }));
  const correct = () =>
    client.correct({ filing: 'PORTS', source: { message: { ...messageOf(rows) } }, madeBy: '' }, {});
  await expect(correct()).rejects.toThrow('no row that waits for a correction');

  const { certificates } = await stage.account(exporter);
  const cancelled = certificates.find(({ sbCumInvoiceNumber }) => sbCumInvoiceNumber === wrong.sbCumInvoiceNumber);
  Object.assign(cancelled ?? {}, { eBRCStatus: 'Cancelled' });
  const input = { exporterId: exporter.exporterId, ...(await daysOf(exporter)) };
  await run(input);
  const [finding] = await findingsOf(exporter);
  expect(finding).toMatchObject({ kind: 'status_changed', eBRCNumber: cancelled?.eBRCNumber });
  expect(finding?.advice).toContain('`ebrc correct FILING FILE`');
  expect(await client.show('PORTS')).toMatchObject({
    actions: ['correct'],
    rows: [{ cancelled: null }, { cancelled: 'Cancelled', eBRCNumber: cancelled?.eBRCNumber }],
  });

  const { filing: made } = await correct();
  const correction = stage.env.client.workflow.getHandle<typeof fileRemittances>(made.workflowId);
  await stage.until(correction, 'awaiting_approval');
  expect(made.rows.map(({ serialNo }) => serialNo)).toEqual([2]);
  expect(stage.pushes(exporter)).toBe(1);
  await stage.decide(correction, 'approve', { by: 'ravi' });
  expect(await correction.result()).toMatchObject({ state: 'certified', n: 2 });
  // The row of the correction stands for the one whose certificate was cancelled.
  const whole = await client.show('PORTS');
  expect(whole.rows.map(({ serialNo, n, cancelled: status }) => [serialNo, n, status])).toEqual([
    [1, 1, null],
    [2, 2, null],
  ]);
  expect(whole.actions).toEqual([]);
  await run({ exporterId: exporter.exporterId, ...(await daysOf(exporter)) });
  expect(await findingsOf(exporter)).toEqual([]);
  await expect(correct()).resolves.toMatchObject({ repeated: true, filing: { n: 2 } });
});
