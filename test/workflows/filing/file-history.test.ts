/** What a filing leaves behind: its normal activities, events and upserts at the server, and its log. */
import { messageOf } from '../../../dev/sample-mapping';
import type { temporal } from '@temporalio/proto';
import { searchAttributes } from '../../../src/domain/names';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { createLogger } from '../../../src/telemetry/logger';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

const lines: string[] = [];
const logger = createLogger({ level: 'trace', destination: { write: (line: string) => void lines.push(line) } });

const stage = useFilingStage({ ...QUICK_AUTHORITY, worker: { ...QUICK_AUTHORITY.worker, logger } });

type Events = temporal.api.history.v1.IHistoryEvent[];

const activities = (events: Events) =>
  events.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []);

const localSteps = (events: Events) =>
  events.flatMap(({ markerRecordedEventAttributes: marker }) => {
    const [data] = marker?.details?.['data']?.payloads ?? [];
    return data
      ? [(JSON.parse(Buffer.from(data.data ?? []).toString()) as { activity_type: string }).activity_type]
      : [];
  });

it('calls the service in normal activities and takes every other step locally', async () => {
  const exporter = await stage.exporter();
  // The second filing finds the exporter and its balances in the ledger.
  const first = await stage.file(exporter, [stage.mapping(exporter)]);
  await first.result();
  const { events: refreshed } = await first.fetchHistory();
  expect(activities(refreshed ?? []).slice(0, 4)).toEqual(['readExporter', 'refreshIrms', 'readIrms', 'takeSnapshot']);
  expect(localSteps(refreshed ?? [])).toEqual(['openFiling', 'openFiling']);
  // The skipping server's clock may be years ahead.
  await stage.ledger.pool.query("UPDATE irms SET read_at = now() + interval '100 years'");
  const mapping = stage.mapping(exporter);
  const filing = await stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
    taskQueue: stage.worker.taskQueue,
    workflowId: 'file/test/LEAN-1',
    typedSearchAttributes: searchAttributes({
      exporterId: exporter.exporterId,
      state: 'checking',
      mode: 'test',
      reference: 'LEAN-1',
      needsAttention: false,
    }),
    args: [
      {
        mode: 'test',
        exporterId: exporter.exporterId,
        reference: 'LEAN-1',
        madeBy: 'asha',
        message: messageOf([mapping]),
      },
    ],
  });
  expect(await filing.result()).toMatchObject({ state: 'certified', counts: { archived: 1 } });
  const { events } = await filing.fetchHistory();
  expect(activities(events ?? [])).toEqual([
    'takeSnapshot',
    'submitPush',
    'pollStatus',
    'fetchCertificates',
    'downloadCertificate',
  ]);
  // Every other move is recorded with what the service answered.
  expect(localSteps(events ?? [])).toEqual(['openFiling']);
  // A read before a send goes ahead of filings and schedules.
  const snapshot = events?.find(
    ({ activityTaskScheduledEventAttributes }) =>
      activityTaskScheduledEventAttributes?.activityType?.name === 'takeSnapshot',
  );
  expect(snapshot?.activityTaskScheduledEventAttributes?.priority?.priorityKey).toBe(2);
  expect(events?.length).toBeLessThanOrEqual(70);
  const upserts = events?.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes) ?? [];
  expect(upserts.length).toBeLessThanOrEqual(4);
  // The watchdog's alone, which looks at the overdue marks too.
  expect(events?.filter((event) => event.timerStartedEventAttributes)).toHaveLength(1);
});

it('takes a step with many rows, and every step while PostgreSQL is away, in a normal activity', async () => {
  const exporter = await stage.exporter({ irmAmount: 1_000_000 });
  const rows = Array.from({ length: 101 }, () =>
    stage.mapping(exporter, { mappedIRMAmountFCC: 10, irmRemitAmtFCC: 1_000_000 }),
  );
  const large = await stage.file(exporter, rows);
  await stage.until(large, 'processing');
  expect(activities((await large.fetchHistory()).events ?? [])).toContain('openFiling');
  stage.database.down = true;
  const small = await stage.file(await stage.exporter(), [stage.mapping(exporter)]);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  stage.database.down = false;
  await small.result();
  expect(activities((await small.fetchHistory()).events ?? [])).toContain('openFiling');
});

it('logs nothing of what a filing says: no name, document, amount, remittance or word of the authority', async () => {
  const exporter = await stage.exporter({ irmAmount: 7_777_123 });
  const marked = {
    sbCumInvoiceNumber: '9182736',
    billNo: 'MARKED-BILL',
    irmRemitAmtFCC: 7_777_123,
    mappedIRMAmountFCC: 4_321.87,
    sbCumInvoiceValueinFCC: 4_321.87,
  };
  await stage.reject(marked.sbCumInvoiceNumber, 1, ['ERR28: MARKED words about 9182736 of 4321.87']);
  stage.fault(exporter, 'push-irm', '500', { times: 1 });
  const rejected = await stage.file(exporter, [stage.mapping(exporter, marked)], { madeBy: 'Marked Maker' });
  await stage.until(rejected, 'outcome_unknown');
  await stage.settleWindowOver(rejected);
  await stage.resolve(rejected, 'not-filed', undefined, { by: 'Marked Checker', note: 'MARKED note' });
  expect(await rejected.result()).toMatchObject({ state: 'rejected' });
  const again = stage.mapping(exporter, { ...marked, billNo: 'MARKED-BILL-2' });
  expect(await (await stage.file(exporter, [again])).result()).toMatchObject({ state: 'certified' });
  const refused = stage.mapping(exporter, { ...marked, billNo: 'MARKED-BILL-3' });
  expect(await (await stage.file(exporter, [refused])).result()).toMatchObject({ state: 'refused' });

  expect(lines.length).toBeGreaterThan(1);
  const said = lines.join('');
  for (const secret of ['MARKED', 'Marked', '9182736', '4321.87', '7777123', exporter.irmNumber, exporter.username]) {
    expect([secret, lines.filter((line) => line.includes(secret))]).toEqual([secret, []]);
  }
  expect(said).toContain('filing recorded');
});
