/** What the service's status records say, and what they do not decide. */
import { findings, passSettleTime, rowStates, soon } from './acts';
import type { Script } from './service-proxy';
import type { FilingStageOptions, TestExporter } from './stage';
import { QUICK_AUTHORITY, useFilingStage } from './use-stage';

const OVERDUE_SOON: FilingStageOptions = {
  ...QUICK_AUTHORITY,
  worker: { settings: { ...QUICK_AUTHORITY.worker?.settings, overdueAfterMs: 30 * 60_000 } },
};
const stage = useFilingStage(OVERDUE_SOON);

type Entry = Record<string, unknown>;
const entriesOf = (data: Record<string, unknown>): Entry[] => (data['ebrcBulkGenStatusLst'] ?? []) as Entry[];

/** Changes the status records of an exporter's requests; `done`: only those with a list. */
function onStatus({ exporterId }: TestExporter, change: (data: Entry, list: Entry[]) => Entry, times = 1_000): void {
  let left = times;
  const script: Script = {
    ...{ operation: 'status', about: exporterId, times: 1_000 },
    change: (data) => {
      const list = entriesOf(data);
      if (list.length === 0 || left === 0) return data;
      left -= 1;
      return change(data, list);
    },
  };
  stage.service.script(script);
}

/** The record of its request was read. */
const untilRecorded = (filingId: string | null) =>
  stage.passUntil(async () => {
    const recorded = 'SELECT FROM attempts WHERE filing_id = $1 AND record IS NOT NULL';
    return (await stage.ledger.select(recorded, filingId)).length === 1;
  });

const withList = (data: Entry, list: Entry[]): Entry => ({ ...data, ebrcBulkGenStatusLst: list });

/** Two rows of one IRM and document, of which the authority rejects the first. */
async function twoOfOneDocument(exporter: TestExporter) {
  const first = stage.mapping(exporter, { sbCumInvoiceValueinFCC: 3_000 });
  const second = { ...first, mappedIRMAmountFCC: 2_000, billNo: `${first.billNo}-B` };
  await stage.reject(first.sbCumInvoiceNumber);
  return [first, second];
}

describe('two rows of one IRM and document', () => {
  it.each([
    ['swapped', (at: number) => String(2 - at)],
    ['its own', (at: number) => String(81 + at)],
    ['none', () => null],
  ])('have the outcomes of their entries where the serial numbers are %s', async (_, serialOf) => {
    const exporter = await stage.exporter();
    const rows = await twoOfOneDocument(exporter);
    onStatus(exporter, (data, list) =>
      withList(
        data,
        list.map((entry, at) => ({ ...entry, serialNo: serialOf(at) })),
      ),
    );
    const result = await (await stage.file(exporter, rows)).result();
    expect(result).toMatchObject({ state: 'partly_certified' });
    expect(result.rows.map(({ state }) => state)).toEqual(['rejected', 'certified']);
    const [certificate] = (await stage.account(exporter)).certificates;
    expect(certificate).toMatchObject({ eBRCNumber: result.rows[1]?.eBRCNumber, realisedValueFCC: 2_000 });
  });

  it('whose entries tell nothing apart get certificates by their details alone, and no rejection', async () => {
    const exporter = await stage.exporter();
    const rows = await twoOfOneDocument(exporter);
    const vague = { serialNo: null, billNo: null, fobFCC: null };
    onStatus(exporter, (data, list) =>
      withList(
        data,
        list.map((entry) => ({ ...entry, ...vague })),
      ),
    );
    const filing = await stage.file(exporter, rows);
    const { filingId } = await stage.until(filing, ({ counts }) => counts.certified === 1, 'passing');
    expect((await rowStates(stage, filingId)).map((state) => state.split(' ')[0])).toEqual(['sent', 'certified']);
    stage.service.clear();
    expect(await filing.result()).toMatchObject({ state: 'partly_certified' });
    expect((await rowStates(stage, filingId)).map((state) => state.split(' ')[0])).toEqual(['rejected', 'certified']);
  });
});

it('an entry that contradicts its row decides nothing and is a finding, which a right one closes', async () => {
  const exporter = await stage.exporter();
  const row = stage.mapping(exporter);
  await stage.reject(row.sbCumInvoiceNumber);
  onStatus(exporter, (data, [entry]) => withList(data, [{ ...entry, sbCumInvoiceNumber: 'ANOTHER-1' }]));
  const filing = await stage.file(exporter, [row]);
  const { filingId } = await stage.until(filing, 'processing');
  await stage.passUntil(async () => (await findings(stage, filingId)).includes('record_contradicts'));
  expect(await rowStates(stage, filingId)).toEqual(['sent']);
  stage.service.clear();
  expect(await filing.result()).toMatchObject({ state: 'rejected' });
  expect(await findings(stage, filingId)).toEqual([]);
});

it('Processed without a number certifies nothing, until the number is there', async () => {
  const exporter = await stage.exporter();
  onStatus(exporter, (data, [entry]) => withList(data, [{ ...entry, eBRCNumber: null }]));
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const { filingId } = await stage.until(filing, 'processing');
  await untilRecorded(filingId);
  expect(await rowStates(stage, filingId)).toEqual(['sent']);
  stage.service.clear();
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(await rowStates(stage, filingId)).toEqual(['certified by record']);
});

it('Errored before every row has its outcome frees nothing, and may become Processed', async () => {
  const exporter = await stage.exporter();
  const rows = [stage.mapping(exporter), stage.mapping(exporter)];
  const errored = { processingStatus: 'Errored', eBRCNumber: null, errorDetails: ['ERR28: date'] };
  const open = { processingStatus: null, eBRCNumber: null };
  onStatus(exporter, (data, [one, two]) => ({
    ...withList(data, [
      { ...one, ...errored },
      { ...two, ...open },
    ]),
    ...{ processingStatus: 'Errored', recordProCount: 0, recordFailCount: 1 },
  }));
  const filing = await stage.file(exporter, rows);
  const { filingId } = await stage.until(filing, 'processing');
  const noted = `SELECT FROM filing_rows WHERE filing_id = $1 AND record_status = 'errored'`;
  await stage.passUntil(async () => (await stage.ledger.select(noted, filingId)).length > 0);
  expect(await rowStates(stage, filingId)).toEqual(['sent', 'sent']);
  stage.service.clear();
  expect(await filing.result()).toMatchObject({ state: 'certified', counts: { certified: 2 } });
});

it('Errored that was certified all the same stops its correction, until two persons have seen the certificate', async () => {
  const exporter = await stage.exporter();
  const row = stage.mapping(exporter);
  const errored = { processingStatus: 'Errored', eBRCNumber: null, errorDetails: ['ERR28: date'] };
  const counts = { processingStatus: 'Errored', recordProCount: 0, recordFailCount: 1 };
  onStatus(exporter, (data, [entry]) => ({ ...withList(data, [{ ...entry, ...errored }]), ...counts }));
  const rejected = await (await stage.file(exporter, [row])).result();
  expect(rejected).toMatchObject({ state: 'rejected' });
  const { reference, filingId } = rejected;
  const again = await stage.file(exporter, [{ ...row, billNo: 'CORRECTED' }], {
    ...{ reference, n: 2, corrects: filingId ?? '' },
  });
  // By the check where the certificate was read by then, otherwise before it is sent.
  const stopped = await stage.until(
    again,
    ({ state }) => state === 'awaiting_approval' || state === 'needs_correction',
  );
  const [certificate] = (await stage.account(exporter)).certificates;
  expect([stopped.attention, ...stopped.errors.map(({ message }) => message)].join()).toContain(
    certificate?.eBRCNumber,
  );
  expect(stage.pushes(exporter)).toBe(1);
  if (stopped.state === 'needs_correction') return;
  await stage.decide(again, 'abandon');
  expect(await again.result()).toMatchObject({ state: 'abandoned' });
});

it.each<[string, (data: Entry, list: Entry[]) => Entry]>([
  ['Processed by its counts alone', (data) => withList(data, [])],
  ['Processed with more successes than entries', (data) => ({ ...withList(data, []), recordProCount: 7 })],
  [
    'a word that nobody knows',
    (data) => ({ ...withList(data, []), processingStatus: 'UnderProcess', recordProCount: 0 }),
  ],
  ['Errored without a list', (data) => ({ ...withList(data, []), processingStatus: 'Errored', recordProCount: 0 })],
])('%s decides nothing: its certificate is found by its details', async (_, change) => {
  const exporter = await stage.exporter();
  onStatus(exporter, change);
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const { filingId } = await stage.until(filing, 'processing');
  await untilRecorded(filingId);
  expect(await rowStates(stage, filingId)).toEqual(['sent']);
  // Overdue, so that its certificates are looked for.
  await stage.pass(0.4);
  await passSettleTime(stage, filing);
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(await rowStates(stage, filingId)).toEqual(['certified by details']);
  expect(stage.pushes(exporter)).toBe(1);
});

describe('a request that the service denies', () => {
  const denied: Script = { operation: 'status', answer: { status: 404, body: { message: 'Request not found' } } };

  it('once is followed on', async () => {
    const exporter = await stage.exporter();
    stage.service.script({ ...denied, about: exporter.exporterId });
    const result = await (await stage.file(exporter, [stage.mapping(exporter)])).result();
    expect(result).toMatchObject({ state: 'certified', asked: false });
    expect(await stage.story(result.filingId)).not.toContain('outcome_unknown');
  });

  it('for a settle time is unknown: its certificate is found by its details', async () => {
    const exporter = await stage.exporter();
    stage.service.script({ ...denied, about: exporter.exporterId, times: 1_000 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, 'processing');
    const sight = `UPDATE attempts SET denied_since = denied_since - interval '5 hours' WHERE filing_id = $1 AND denied_since IS NOT NULL`;
    await stage.passUntil(async () => (await stage.ledger.pool.query(sight, [filingId])).rowCount === 1);
    // It does not stand still in silence until then.
    const { rows } = await stage.ledger.pool.query<{ attention: string | null }>(
      'SELECT attention FROM filings WHERE filing_id = $1',
      [filingId],
    );
    expect(rows[0]?.attention).toMatch(/not known to the service/u);
    await passSettleTime(stage, filing);
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.story(filingId)).toContain('outcome_unknown');
    expect(await rowStates(stage, filingId)).toEqual(['certified by details']);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('and that was acknowledged as Failed is unknown at once, and takes two persons', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'failed-ack');
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, 'processing');
    await stage.until(filing, 'outcome_unknown', 'passing');
    expect(await stage.verdicts(filingId)).toEqual(['accepted']);
    await passSettleTime(stage, filing);
    await stage.until(filing, ({ asked }) => asked);
    expect(await stage.decide(filing, 'not_filed', { by: 'ravi' })).toMatchObject({ outcome: 'recorded' });
    await stage.untilAsleep(filing);
    expect(await stage.verdicts(filingId)).toEqual(['accepted']);
    await stage.decide(filing, 'not_filed', { by: 'meera' });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.verdicts(filingId)).toEqual(['not_filed', 'accepted']);
  });
});

it('a request without an outcome is overdue, and two persons can say that it was not filed', async () => {
  const exporter = await stage.exporter();
  // It was taken in by nobody.
  const requestId = `NOWHERE-${exporter.username}`;
  const data = { requestId, dgftAckId: 'ACK', ackStatus: 'Validated', recordResCount: 1 };
  const envelope = (content: object) => ({ success: true, data: content, statusCode: 200, timestamp: '' });
  stage.service.script({
    ...{ operation: 'push-irm', about: exporter.exporterId },
    answer: { status: 200, body: envelope(data) },
  });
  const open = { requestId, processingStatus: null, recordResCount: 1, recordProCount: 0, recordFailCount: 0 };
  stage.service.script({
    ...{ operation: 'status', about: requestId, times: 1_000 },
    answer: { status: 200, body: envelope({ ...open, ebrcBulkGenStatusLst: [] }) },
  });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const { filingId } = await stage.until(filing, 'processing');
  expect(await stage.decide(filing, 'not_filed', { by: 'ravi' })).toMatchObject({ code: 'resolve_refused' });
  await stage.pass(0.6);
  await passSettleTime(stage, filing);
  await stage.until(filing, ({ state, asked }) => state === 'overdue' && asked);
  expect(await stage.decide(filing, 'not_filed', { by: 'ravi' })).toMatchObject({ outcome: 'recorded' });
  await stage.untilAsleep(filing);
  // It looks again and again, and nothing comes of it.
  await stage.pass(2);
  expect(await stage.until(filing, ({ asked }) => asked)).toMatchObject({ state: 'overdue' });
  await stage.decide(filing, 'not_filed', { by: 'meera' });
  await soon(async () => (await stage.verdicts(filingId)).join() === 'not_filed,accepted');
  expect(await filing.result()).toMatchObject({ state: 'certified' });
});
