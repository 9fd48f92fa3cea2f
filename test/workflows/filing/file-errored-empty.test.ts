/** A request that is Errored with nothing listed: absence, which counts after the settle window and a complete look. */
import { createActivities } from '../../../src/activities/create-activities';
import { MockActivityEnvironment } from '@temporalio/testing';
import { HOUR_MS, MINUTE_MS, type Filing } from './filing-stage';
import { useFilingStage } from './use-filing-stage';

const SETTLE_MS = 2 * HOUR_MS;

const stage = useFilingStage({
  sandbox: { ackDelayMs: 30 * MINUTE_MS },
  worker: {
    settings: {
      httpTimeoutMs: 3_000,
      pollFirstMs: 30 * MINUTE_MS,
      settleAfterMs: SETTLE_MS,
      overdueAfterMs: SETTLE_MS * 4,
    },
  },
});

interface Requested {
  requestId: string;
  since: number | null;
  state: string;
}

async function requestOf(filing: Filing): Promise<Requested> {
  const { filingId } = await stage.view(filing);
  const { rows } = await stage.ledger.pool.query<Requested>(
    `SELECT request_id AS "requestId", state, floor(extract(epoch FROM statement_since) * 1000)::float8 AS since
       FROM requests WHERE filing_id = $1`,
    [filingId],
  );
  if (!rows[0]) throw new Error('no request');
  return rows[0];
}

it('is not yet an outcome until the settle window is over, then a release by a complete look', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'status', 'errored-empty', { every: 1 });
  const mapping = stage.mapping(exporter);
  // The authority rejects it, and does not say for which rows.
  await stage.reject(mapping.sbCumInvoiceNumber, 1, []);
  const filing = await stage.file(exporter, [mapping]);
  await stage.until(filing, 'processing');
  while ((await requestOf(filing)).since === null) await stage.pass(0.1);
  const { since } = await requestOf(filing);
  // Several looks later, and well before the end of the window.
  await stage.pass(1);
  expect(await stage.view(filing)).toMatchObject({ state: 'processing', rows: [{ state: 'submitted' }] });
  const { filingId } = await filing.result();
  expect(await stage.view(filing)).toMatchObject({ state: 'rejected', rows: [{ state: 'needs_correction' }] });
  const { rows } = await stage.ledger.pool.query<{ ground: string; began: number; complete: boolean; at: number }>(
    `SELECT l.ground, k.complete, extract(epoch FROM k.began_at)::float8 * 1000 AS began,
            extract(epoch FROM l.released_at)::float8 * 1000 AS at
       FROM releases l JOIN looks k USING (look_id) WHERE l.filing_id = $1`,
    [filingId],
  );
  expect(rows).toMatchObject([{ ground: 'absent', complete: true }]);
  expect(rows[0]?.began).toBeGreaterThanOrEqual((since ?? Infinity) + SETTLE_MS);
  expect(rows[0]?.at).toBeGreaterThanOrEqual((since ?? Infinity) + SETTLE_MS);
});

it('is no outcome by two polls that overlap, as after a reset', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'status', 'errored-empty', { every: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, 'processing');
  const { filingId } = await stage.view(filing);
  const args = { filingId: filingId ?? '', submission: 1, exporterId: exporter.exporterId, ackErrors: [] };
  const poll = () =>
    new MockActivityEnvironment({ attempt: 2 }).run(() => createActivities(stage.worker.deps).pollStatus(args));
  const polled = [...(await Promise.allSettled([poll()])), ...(await Promise.allSettled([poll(), poll()]))];
  expect(polled.map((each) => each.status === 'rejected' && String(each.reason))).toEqual(
    polled.map(() => expect.stringContaining('Errored without counts and records') as string),
  );
  expect(await stage.view(filing)).toMatchObject({ state: 'processing', rows: [{ state: 'submitted' }] });
  stage.sandbox.clearFaults();
  expect(await filing.result()).toMatchObject({ state: 'certified' });
});
