/** What a filing costs the server: its normal activities, events and upserts. */
import type { temporal } from '@temporalio/proto';
import { searchAttributes } from '../../../src/domain/search-attributes';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import type { FilingStage } from './filing-stage';
import { useFilingStage } from './use-filing-stage';

let stage: FilingStage;

useFilingStage((opened) => (stage = opened));

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
  expect(activities(refreshed ?? []).slice(0, 4)).toEqual(['adoptExporter', 'refreshIrms', 'readIrms', 'takeSnapshot']);
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
        message: { recordResCount: 1, uploadType: '101', decalarationFlag: 'Y', ebrcBulkGenDtos: [mapping] },
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
