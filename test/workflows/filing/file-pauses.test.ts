import { HOUR_MS } from './filing-stage';
import { SHORT_SETTLE, useFilingStage } from './use-filing-stage';

const stage = useFilingStage(SHORT_SETTLE);

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

it('is given up while its exporter cannot be read, before anything of it is recorded', async () => {
  const exporter = await stage.exporter();
  await stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked: true });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, 'needs_access');
  expect(await stage.abandon(filing)).toMatchObject({ state: 'refused', errors: [{ code: 'given_up' }] });
  expect(await filing.result()).toMatchObject({ filingId: null, state: 'refused' });
  await stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked: false });
});

it('is overdue only once it is back from a pause that outlasts its time', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'accepted-but-invisible', { delayMs: 6 * HOUR_MS });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
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

it('waits until the authority opens access before it sends anything', async () => {
  const exporter = await stage.exporter();
  const customer = (await stage.sandbox.state()).customers.get(exporter.exporterId);
  if (!customer?.connection) throw new Error('the client is not validated');
  customer.connection.activatesAt = (await stage.env.currentTimeMs()) + 5 * HOUR_MS;
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, ({ filingId }) => filingId !== null);
  expect(stage.pushes(exporter)).toBe(0);
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified' });
  expect(await stage.story(result.filingId)).toContain('activation_pending');
  expect(stage.pushes(exporter)).toBe(1);
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
  const exporter = await stage.exporter();
  stage.fault(exporter, 'download-pdf', 'html-body', { status: 413, every: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
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
  const { rows: events } = await stage.ledger.pool.query<{ text: string }>(
    `SELECT text FROM filing_events WHERE filing_id = $1 AND kind = 'collecting_again'`,
    [filingId],
  );
  expect(events[0]?.text).toMatch(new RegExp(`^PDF of ${rows[0]?.eBRCNumber}: `));
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

it('fills a thousand rows into two submissions of one filing', async () => {
  const exporter = await stage.exporter();
  const rows = Array.from({ length: 1_000 }, () =>
    stage.mapping(exporter, { mappedIRMAmountFCC: 1, sbCumInvoiceValueinFCC: 1 }),
  );
  const filing = await stage.file(exporter, rows, { channel: 'push' });
  await stage.until(filing, 'processing');
  const view = await stage.view(filing);
  expect(view.submissions.map(({ rowCount, ackStatus }) => [rowCount, ackStatus])).toEqual([
    [999, 'Validated'],
    [1, 'Validated'],
  ]);
  expect(stage.pushes(exporter)).toBe(2);
  const abandoned = await stage.abandon(filing);
  expect(abandoned).toMatchObject({ state: 'abandoned', rows: { length: 200 } });
  expect(abandoned.moreRows).toContain(`the first 200 of 1000: GET /v1/filings/${abandoned.filingId}/rows`);
});
