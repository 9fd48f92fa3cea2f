/** Filing, correcting and deciding through the typed client. Temporal is a stand-in that records what it is told. */
import { openInput } from '../../src/activities/filings/open';
import type { FileInput, FilingResult } from '../../src/domain/contracts';
import { readResult, refusedResult } from '../../src/ledger/filings/result';
import { createEbrcClient } from '../../src/starter/client';
import type { EbrcClientDependencies } from '../../src/starter/dependencies';
import { RefusedError } from '../../src/starter/errors';
import { createDocumentStore } from '../../src/documents/document-store';
import type { Principal } from '../../src/domain/principal';
import type { Mapping } from '../../src/domain/filing/mapping';
import { messageOf } from '../../dev/sample-mapping';
import { filingPage } from '../../src/starter/cli/filing-text';
import { keptTerminal } from '../support/terminals';
import { EXPORTER, irm, knowExporter, newRows, readIrms } from '../ledger/filings/recording';
import { useTestDatabase } from '../support/postgres';
import { principalOf } from '../support/principals';
import { TEST_SETTINGS } from '../support/settings';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ledger = useTestDatabase(knowExporter);

/** What was started and signalled. A start records the input, as the first step of a run does. */
const told: string[] = [];
const inputs: FileInput[] = [];
const queueing = () => Promise.resolve(new Map());
const results = new Map<string, FilingResult>();
const running = new Set<string>();
let away = false;

const temporal = {
  options: { namespace: 'default' },
  withDeadline: <T>(_: number, call: () => T) => call(),
  workflow: {
    withDeadline: <T>(_: number, call: () => T) => call(),
    withAbortSignal: <T>(_: AbortSignal, call: () => T) => call(),
    async start(type: string, { workflowId, args }: { workflowId: string; args: [FileInput] }) {
      if (away) throw new Error('14 UNAVAILABLE');
      if (running.has(workflowId)) throw new WorkflowExecutionAlreadyStartedError('running', workflowId, type);
      told.push(`start ${workflowId}`);
      inputs.push(args[0]);
      const { pool } = ledger;
      const deps = { mode: 'test' as const, pool, settings: TEST_SETTINGS, queueing };
      const opened = await openInput(deps, { input: args[0], workflowId, run: 'run' });
      if (opened.outcome === 'recorded' || opened.outcome === 'standing') {
        running.add(workflowId);
        await pool.query(`UPDATE filings SET state = 'submitting' WHERE filing_id = $1 AND state = 'checking'`, [
          opened.filingId,
        ]);
        const { result } = await readResult(pool, opened.filingId, null);
        results.set(workflowId, { ...result, rows: result.rows ?? [] });
      } else if (opened.outcome === 'refused') {
        const { findings, contentHash, recorded } = opened;
        const refused = await refusedResult(pool, {
          workflowId,
          input: args[0],
          findings,
          contentHash,
          recorded,
        });
        results.set(workflowId, { ...refused, rows: refused.rows ?? [] });
      }
    },
    getHandle: (workflowId: string) => ({
      signal: (name: string) => {
        if (away) return Promise.reject(new Error('14 UNAVAILABLE'));
        told.push(`${name} ${workflowId}`);
        return Promise.resolve();
      },
      query: () => Promise.resolve(results.get(workflowId)),
      result: () => {
        const result = results.get(workflowId);
        return result?.state === 'refused' ? Promise.resolve(result) : new Promise(() => undefined);
      },
    }),
  },
};

let documents: EbrcClientDependencies['documents'];
beforeAll(async () => {
  documents = createDocumentStore({ root: await mkdtemp(join(tmpdir(), 'ebrc-filings-')) });
});
beforeEach(() => {
  told.length = 0;
  away = false;
});

const clientOf = (principal?: Principal) =>
  createEbrcClient({
    ...{ pool: ledger.pool, mode: 'test', documents, taskQueue: 'ebrc', settings: TEST_SETTINGS },
    temporal: temporal as never,
    ...(principal && { principal }),
  });

const message = (rows: Mapping[]) => ({ message: messageOf(rows) as unknown as Record<string, unknown> });
const mappings = (count = 1) => newRows(count).map(({ mapping }, index) => ({ ...mapping, serialNo: index + 1 }));
const file = (rows: Mapping[], more: object = {}) =>
  clientOf().file({ source: message(rows), exporter: EXPORTER, madeBy: 'somebody', ...more });

async function codesOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RefusedError)) throw new Error(`not refused: ${String(error)}`);
  return error.errors.map(({ code }) => code);
}

describe('to file', () => {
  it('starts a run once; the same content again sends nothing, other content is refused', async () => {
    const rows = mappings();
    const first = await file(rows, { reference: 'ONE' });
    expect(first.filing).toMatchObject({
      reference: 'ONE',
      n: 1,
      state: 'submitting',
      madeBy: 'somebody',
      counts: { open: 1 },
    });
    expect(told).toEqual(['start file/test/ONE']);
    const again = await file(rows, { reference: 'ONE' });
    expect(again).toMatchObject({
      repeated: true,
      notice: `Filed before as ${first.filing.filingId}: nothing new was sent.`,
    });
    expect(told).toEqual(['start file/test/ONE', 'poke file/test/ONE']);
    expect(await codesOf(file(mappings(), { reference: 'ONE' }))).toEqual(['reference_taken']);
  });

  it('starts a run that has the rows, where they are few, for a ledger that loses them', async () => {
    await file(mappings(2), { reference: 'FEW' });
    const { inputRef: _, ...input } = inputs.at(-1)!;
    const lost = { input: { ...input, inputRef: 'lost' }, workflowId: 'file/test/FEW' };
    const deps = { mode: 'test' as const, pool: ledger.pool, settings: TEST_SETTINGS, queueing };
    expect(await openInput(deps, lost)).toMatchObject({ outcome: 'standing' });
    const many = { ...lost, input: { ...lost.input, message: undefined } };
    expect(await openInput(deps, many)).toMatchObject({ outcome: 'refused', findings: [{ code: 'input_unknown' }] });
  });

  it('under a reference of another exporter is refused, and says so', async () => {
    const rows = mappings();
    await file(rows, { reference: 'SHARED' });
    await knowExporter(ledger, 'exporter-2', 'AAGCM4521L');
    const refused = file(rows, { reference: 'SHARED', exporter: 'exporter-2' });
    await expect(refused).rejects.toThrow(/belongs to filing F\w+ of another exporter\./u);
  });

  it('two at once under one reference: the other content is refused', async () => {
    const both = await Promise.allSettled([
      file(mappings(), { reference: 'TWO' }),
      file(mappings(), { reference: 'TWO' }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('a refused run shows its errors, and recorded nothing', async () => {
    const rows = mappings();
    await file(rows, { reference: 'HELD' });
    const refused = await file(rows, { reference: 'AGAIN' });
    expect(refused.filing).toMatchObject({ filingId: null, state: 'refused', needsAttention: true });
    expect(refused.filing.errors).toEqual([expect.objectContaining({ severity: 'error', allowDuplicate: '1=REASON' })]);
    expect((await clientOf().check({ source: message(rows), exporter: EXPORTER })).ok).toBe(false);
  });

  it('a principal who hands it in is the maker', async () => {
    const ravi = await principalOf(ledger.pool, 'ravi', ['maker']);
    const made = await clientOf(ravi).file({ source: message(mappings()), exporter: EXPORTER, madeBy: 'another' });
    expect(made.filing.madeBy).toBe('ravi');
    const [stored] = await ledger.select('SELECT maker_id FROM filings WHERE filing_id = $1', made.filing.filingId);
    expect(stored?.maker_id).toBe(ravi.principalId);
  });
});

describe('to correct', () => {
  it('files the freed rows again, once', async () => {
    const rows = mappings(3);
    const { filing } = await file(rows, { reference: 'FIX' });
    const correct = (changed: Mapping[], name = 'FIX') =>
      clientOf().correct({ filing: name, source: message(changed), madeBy: 'somebody' });
    expect(await codesOf(correct(rows))).toEqual(['nothing_to_correct']);
    await ledger.pool.query(
      `UPDATE filing_rows SET state = CASE position WHEN 0 THEN 'sent' ELSE 'rejected' END WHERE filing_id = $1`,
      [filing.filingId],
    );
    // The row on its way is left out, the others are filed with what was changed.
    const changed = rows.map((row) => ({ ...row, portCode: 'INBOM4' }));
    const made = await correct(changed);
    expect(made.filing).toMatchObject({
      reference: 'FIX',
      n: 2,
      workflowId: 'file/test/FIX/2',
      corrects: filing.filingId,
    });
    expect(made.filing.rows.map(({ serialNo }) => serialNo)).toEqual([2, 3]);
    // By reference and by the filing's id it finds the correction that was made.
    expect(await correct(changed)).toMatchObject({ repeated: true, filing: { n: 2 } });
    expect(await correct(changed, filing.filingId ?? '')).toMatchObject({ repeated: true, filing: { n: 2 } });
    const whole = await clientOf().show('FIX');
    expect(whole.rows.map(({ serialNo, n, state }) => [serialNo, n, state])).toEqual([
      [1, 1, 'sent'],
      [2, 2, 'planned'],
      [3, 2, 'planned'],
    ]);
    // A row of the correction is rejected again: the next correction takes it from there.
    await ledger.pool.query(
      `UPDATE filing_rows SET state = CASE position WHEN 0 THEN 'sent' ELSE 'rejected' END WHERE filing_id = $1`,
      [made.filing.filingId],
    );
    const third = await correct(changed.map((row) => ({ ...row, portCode: 'INNSA1' })));
    expect(third.filing).toMatchObject({ n: 3, corrects: made.filing.filingId, counts: { rows: 1 } });
    expect((await clientOf().history('FIX')).map(({ n, kind }) => [n, kind])).toEqual(
      expect.arrayContaining([
        [1, 'corrected'],
        [2, 'corrected'],
        [3, 'recorded'],
      ]),
    );
  });
});

describe('to approve', () => {
  it('shows what changed of the remittances since the filing was made, and which calls wait', async () => {
    const rows = mappings();
    await readIrms(ledger, [irm()], 3_600_000);
    const { filing } = await file(rows, { reference: 'CHANGED', approval: true });
    const { pool } = ledger;
    await pool.query(`UPDATE filings SET state = 'awaiting_approval', asked = true WHERE filing_id = $1`, [
      filing.filingId,
    ]);
    expect((await clientOf().show('CHANGED')).changedIrms).toEqual([]);
    await readIrms(ledger, [irm({ irmAvailableAmt: 4_000, irmStatus: 'amended' })]);
    await pool.query(
      `INSERT INTO budget_classes (key_hash, rate_class, closed_until) VALUES ('test:k', 'push', now() + interval '1 h'),
         ('test:k', 'bulk', now() + interval '1 h'), ('live:k', 'details', now() + interval '1 h')`,
    );
    const shown = await clientOf().show('CHANGED');
    const irmNumber = rows[0]?.irmNumber;
    expect(shown.changedIrms).toEqual([
      { irmNumber, what: 'available', before: '10000', now: '4000' },
      { irmNumber, what: 'status', before: 'fresh', now: 'amended' },
    ]);
    expect(shown.rateLimited).toEqual([{ rateClass: 'push', until: expect.stringMatching(/^20.*Z$/u) as string }]);
    const { terminal, written } = keptTerminal();
    terminal.result({}, () => filingPage(shown));
    expect(written.stdout).toMatch(/Since it was made, its remittances changed:[^]*\tavailable\t10000\t4000/u);
    expect(written.stdout).toMatch(/Rate limit\tthe service answered 429.*\(push\)/u);
  });
});

describe('to decide', () => {
  it('wakes the run; what is refused says why', async () => {
    const checker = await principalOf(ledger.pool, 'chandra', ['checker']);
    const { filing } = await file(mappings(), { reference: 'ASK', approval: true });
    await ledger.pool.query(`UPDATE filings SET state = 'awaiting_approval', asked = true WHERE filing_id = $1`, [
      filing.filingId,
    ]);
    expect(await codesOf(clientOf().approve('ASK', { by: 'somebody' }))).toEqual(['needs_token']);
    // No principal made it, so it takes two.
    const noted = await clientOf(checker).approve('ASK', { by: '' });
    expect(noted).toMatchObject({
      recorded: true,
      waitsForPerson: true,
      notice: expect.stringContaining('somebody else'),
    });
    expect(told.at(-1)).toBe('poke file/test/ASK');
    const abandoned = await clientOf().abandon('ASK', { by: 'somebody', note: 'not needed' });
    expect(abandoned.filing).toMatchObject({ state: 'abandoned', actions: ['correct'] });
    expect((await clientOf().abandon('ASK', { by: 'somebody' })).notice).toContain('already abandoned');
    expect(await codesOf(clientOf().resolve('ASK', { as: 'not-filed', by: 'somebody' }))).toEqual(['filing_ended']);
    expect(await codesOf(clientOf().approve('NONE', { by: 'x' }))).toEqual(['unknown_filing']);
  });

  it('stands though Temporal is away', async () => {
    await file(mappings(), { reference: 'AWAY' });
    away = true;
    const abandoned = await clientOf().abandon('AWAY', { by: 'somebody' });
    expect(abandoned).toMatchObject({
      filing: { state: 'abandoned' },
      notice: expect.stringContaining('It is decided'),
    });
  });

  it('all at once answers every filing against which nothing was found', async () => {
    const { pool } = ledger;
    for (const [reference, names] of [
      ['CLEAR', []],
      ['SEEN', ['certificate:E-1']],
    ] as const) {
      const { filing } = await file(mappings(), { reference });
      await pool.query(`UPDATE filings SET state = 'outcome_unknown', asked = true WHERE filing_id = $1`, [
        filing.filingId,
      ]);
      await pool.query(`UPDATE filing_rows SET state = 'sent', sent_at = now() WHERE filing_id = $1`, [
        filing.filingId,
      ]);
      await pool.query(
        `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, marked_at, epoch, beat, settle_beats, settle_ms, timeout_ms, evidence)
         VALUES ($1, 1, 'test', $2, 'unknown', now() - interval '5 h', 'e', 0, 1, 14400000, 60000, $3)`,
        [filing.filingId, EXPORTER, JSON.stringify({ readAt: null, names, entries: [] })],
      );
    }
    const { answered, left } = await clientOf().resolveAll({ by: 'somebody', note: 'looked at the portal' });
    expect([answered.map(({ reference }) => reference), left.map(({ reference }) => reference)]).toEqual([
      ['CLEAR'],
      ['SEEN'],
    ]);
    expect(left[0]?.why).toContain('certificate:E-1');
  });
});

it('the evidence of a filing is one zip', async () => {
  const { filing } = await file(mappings(2), { reference: 'PROOF' });
  const path = join(await mkdtemp(join(tmpdir(), 'ebrc-evidence-')), 'proof.zip');
  const written = await clientOf().evidence('PROOF', path);
  expect(written).toMatchObject({ path, filingId: filing.filingId, removed: [], differs: [] });
  expect(written.files).toEqual(
    expect.arrayContaining(['filing.json', 'rows.json', 'decisions.json', 'events.json', 'about.json']),
  );
});
