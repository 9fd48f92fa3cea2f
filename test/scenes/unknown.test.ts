/** Outcomes that nobody knows: and what persons answer. */
import { readBundle } from '../../src/ledger/views/bundle';
import { certifyByHand, clientOf, namesOf, passSettleTime, rowStates, settle, soon, untilFound } from './acts';
import { QUICK_AUTHORITY, useFilingStage } from './use-stage';

const stage = useFilingStage(QUICK_AUTHORITY);

describe('not filed', () => {
  it('is refused before the settle time, and enough from one person after it: it is sent again', async () => {
    const { filing, exporter, filingId } = await stage.lost('drop-before-accept');
    const early = await stage.decide(filing, 'not_filed');
    expect(early).toMatchObject({ outcome: 'refused', code: 'resolve_refused' });
    await settle(stage, filing);
    expect(await stage.decide(filing, 'not_filed', { attempt: 2 })).toMatchObject({ code: 'attempt_changed' });
    // Carried out once the certificates were read after it.
    expect(await stage.decide(filing, 'not_filed')).toMatchObject({ outcome: 'recorded' });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.verdicts(filingId)).toEqual(['not_filed', 'accepted']);
    expect(stage.pushes(exporter)).toBe(2);
    expect(await stage.requestsOf(exporter)).toHaveLength(1);
  });

  it('by a claimed name is enough without evidence', async () => {
    const { filing, filingId } = await stage.lost('drop-before-accept');
    await settle(stage, filing);
    const client = await clientOf(stage);
    const said = await client.resolve(filingId ?? '', { as: 'not-filed', by: 'ravi', note: 'looked' });
    expect(said).toMatchObject({ recorded: true });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
  });

  it('with `ends` frees the rows, and the filing ends', async () => {
    const { filing, exporter, filingId } = await stage.lost('drop-before-accept');
    await settle(stage, filing);
    await stage.decide(filing, 'not_filed', { ends: true });
    expect(await filing.result()).toMatchObject({ state: 'needs_correction' });
    expect(await rowStates(stage, filingId)).toEqual(['released']);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('with evidence takes two persons who were shown all of it', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept');
    const row = stage.mapping(exporter);
    const filing = await stage.file(exporter, [row]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    const first = await certifyByHand(stage, exporter, row, { realisedValueFCC: 7 });
    await settle(stage, filing);
    expect(await untilFound(stage, filing, /certificate/)).toContain(`certificate:${first}`);
    const claimed = (await clientOf(stage)).resolve(filingId ?? '', { as: 'not-filed', by: 'ravi' });
    await expect(claimed).rejects.toThrow(/EBRC_TOKEN/u);
    expect(await stage.decide(filing, 'not_filed', { by: 'ravi', shown: [] })).toMatchObject({ outcome: 'refused' });
    expect(await stage.decide(filing, 'not_filed', { by: 'ravi' })).toMatchObject({ outcome: 'recorded' });
    expect(await stage.decide(filing, 'not_filed', { by: 'ravi' })).toMatchObject({ code: 'said_already' });
    // What is found meanwhile voids what was said before it.
    const second = await certifyByHand(stage, exporter, row, { realisedValueFCC: 8 });
    await stage.pass(1.1);
    await untilFound(stage, filing, new RegExp(second, 'u'));
    await stage.decide(filing, 'not_filed', { by: 'meera' });
    await soon(async () => (await stage.story(filingId)).includes('decision_void'));
    expect(await stage.verdicts(filingId)).toEqual(['unknown']);
    expect(stage.pushes(exporter)).toBe(1);
    await stage.decide(filing, 'not_filed', { by: 'ravi' });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.verdicts(filingId)).toEqual(['not_filed', 'accepted']);
  });

  it('is not enough where something new agrees with it after the decision: two persons let it go', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept');
    const row = stage.mapping(exporter);
    const filing = await stage.file(exporter, [row]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    await settle(stage, filing);
    // It shows in the reading that the decision waits for, and voids it.
    const number = await certifyByHand(stage, exporter, row, { realisedValueFCC: 7 });
    await stage.decide(filing, 'not_filed', { by: 'ravi' });
    await soon(async () => (await stage.story(filingId)).includes('decision_void'));
    expect(await untilFound(stage, filing, /certificate/)).toEqual([`certificate:${number}`]);
    expect(await stage.verdicts(filingId)).toEqual(['unknown']);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('then a refusal in words that refuse the content may be the proof that it was filed: it asks again, and ends', async () => {
    const { filing, exporter, filingId } = await stage.lost('drop-before-accept');
    await settle(stage, filing);
    const body = { statusCode: 400, message: 'No such IRM', errors: [] };
    stage.service.script({ operation: 'push-irm', about: exporter.exporterId, answer: { status: 400, body } });
    await stage.decide(filing, 'not_filed');
    await soon(async () => (await stage.verdicts(filingId)).join() === 'not_filed,unknown');
    await settle(stage, filing);
    // The refusal is evidence: it may be about what had arrived before.
    expect(await namesOf(stage, filing)).toEqual(['refusal:service']);
    expect(await stage.decide(filing, 'not_filed', { by: 'ravi' })).toMatchObject({ outcome: 'recorded' });
    await stage.untilAsleep(filing);
    expect(await stage.verdicts(filingId)).toEqual(['not_filed', 'unknown']);
    await stage.decide(filing, 'not_filed', { by: 'meera' });
    expect(await filing.result()).toMatchObject({ state: 'needs_correction' });
    expect(await stage.verdicts(filingId)).toEqual(['not_filed', 'not_filed']);
    expect(await rowStates(stage, filingId)).toEqual(['released']);
  });
});

it.each([
  ['200 with the status of an error', 200, { statusCode: 400, message: 'Upgrade your plan' }],
  ['200 with success: false', 200, { success: false, message: 'Upgrade your plan' }],
  ['200 with the code of an error', 200, { errorCode: 'PLAN_OVER', message: 'Upgrade your plan' }],
  ['402', 402, { statusCode: 402, message: 'Upgrade your plan' }],
])('an answer %s is shown in its words while it is asked about', async (_what, status, body) => {
  const exporter = await stage.exporter();
  stage.service.script({ operation: 'push-irm', about: exporter.exporterId, answer: { status, body } });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const { filingId } = await stage.until(filing, 'outcome_unknown');
  await settle(stage, filing);
  const { attempts, evidence } = await stage.view(filing);
  expect(attempts).toMatchObject([{ verdict: 'unknown', answerStatus: status }]);
  expect(attempts[0]?.said).toContain('Upgrade your plan');
  expect(evidence?.entries).toEqual([
    { name: 'refusal:service', text: expect.stringContaining('Upgrade your plan') as string },
  ]);
  const bundle = await readBundle(stage.ledger.pool, filingId ?? '');
  expect(bundle?.files.find(({ name }) => name === 'attempts.json')?.content).toContain('Upgrade your plan');
  await stage.decide(filing, 'not_filed', { by: 'ravi', ends: true });
  await stage.untilAsleep(filing);
  await stage.decide(filing, 'not_filed', { by: 'meera', ends: true });
  expect(await filing.result()).toMatchObject({ state: 'needs_correction' });
});

it('a second send that is refused in words of a duplicate asks, and its certificate is found', async () => {
  const { filing, exporter, filingId } = await stage.lost('drop-before-accept');
  await settle(stage, filing);
  // It is taken in, and the answer says that it has it already.
  const body = { statusCode: 409, message: 'Mapping already exists for this IRM' };
  const script = { operation: 'push-irm', about: exporter.exporterId };
  stage.service.script({ ...script, replace: { status: 409, body } });
  await stage.decide(filing, 'not_filed');
  await soon(async () => (await stage.verdicts(filingId)).join() === 'not_filed,unknown');
  await stage.pass(0.2);
  await passSettleTime(stage, filing);
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(await rowStates(stage, filingId)).toEqual(['certified by details']);
  expect(stage.pushes(exporter)).toBe(2);
});

describe('filed', () => {
  it('with its request: the record is followed, and its certificates are adopted', async () => {
    const { filing, exporter, filingId } = await stage.lost('accept-then-drop');
    const [requestId = ''] = await stage.requestsOf(exporter);
    expect(await stage.decide(filing, 'filed', { requestId })).toMatchObject({ outcome: 'carried_out' });
    expect(await filing.result()).toMatchObject({ state: 'certified', requestId });
    expect(await rowStates(stage, filingId)).toEqual(['certified by details']);
    expect(await stage.verdicts(filingId)).toEqual(['accepted']);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('with a request of which nothing is known: it is evidence, and takes two', async () => {
    const { filing, filingId } = await stage.lost('drop-before-accept');
    await stage.decide(filing, 'filed', { requestId: 'REQ-NOWHERE' });
    expect(await stage.decide(filing, 'filed', { requestId: 'REQ-2' })).toMatchObject({ code: 'resolve_refused' });
    await settle(stage, filing);
    expect(await untilFound(stage, filing, /request/)).toContain('request:REQ-NOWHERE');
    expect(await stage.decide(filing, 'not_filed', { by: 'ravi' })).toMatchObject({ outcome: 'recorded' });
    await stage.untilAsleep(filing);
    expect(await stage.verdicts(filingId)).toEqual(['unknown']);
    await stage.decide(filing, 'not_filed', { by: 'meera' });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
  });

  it('with a certificate takes two persons, who name the same', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept');
    const row = stage.mapping(exporter);
    const filing = await stage.file(exporter, [row]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    const one = await certifyByHand(stage, exporter, row, { realisedValueFCC: 7 });
    const other = await certifyByHand(stage, exporter, row, { realisedValueFCC: 8 });
    await settle(stage, filing);
    await untilFound(stage, filing, new RegExp(other, 'u'));
    const name = (by: string, eBRCNumber: string) =>
      stage.decide(filing, 'filed', { by, certificates: [{ row: 1, eBRCNumber }] });
    expect(await name('ravi', 'EBNOWHERE')).toMatchObject({ code: 'resolve_refused' });
    expect(await name('ravi', one)).toMatchObject({ outcome: 'recorded' });
    expect(await name('meera', other)).toMatchObject({ outcome: 'recorded' });
    expect(await name('lata', one)).toMatchObject({ outcome: 'carried_out' });
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', rows: [{ eBRCNumber: one }] });
    expect(await rowStates(stage, filingId)).toEqual(['certified by persons']);
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('a 5xx keeps what else could be sent waiting for a live read', async () => {
  const struck = await stage.filed('awaiting_approval', { approval: true });
  const waiting = await stage.filed('awaiting_approval', { approval: true });
  const down = { status: 502, body: { message: 'Bad gateway' } };
  stage.service.script({ operation: 'push-irm', about: struck.exporter.exporterId, answer: down });
  for (const operation of ['irm', 'fetch-details']) stage.service.script({ operation, times: 1_000, answer: down });
  for (const by of ['ravi', 'meera']) await stage.decide(struck.filing, 'approve', { by });
  await soon(async () => (await stage.verdicts(struck.filingId)).join() === 'unknown');
  // Its certificates and balances are fresh.
  for (const by of ['ravi', 'meera']) await stage.decide(waiting.filing, 'approve', { by });
  const paused = `SELECT FROM filings WHERE filing_id = $1 AND pause = 'failure'`;
  await soon(async () => (await stage.ledger.select(paused, waiting.filingId)).length === 1);
  expect(stage.pushes(waiting.exporter)).toBe(0);
  expect(await stage.verdicts(waiting.filingId)).toEqual([]);
  stage.service.clear();
  expect(await waiting.filing.result()).toMatchObject({ state: 'certified' });
});
