/**
 * Somebody holds the Temporal namespace, the key of its payloads and a login that reads the ledger, and no grant:
 * nothing is approved, and nothing is filed that waits for approval.
 */
import type { FilingApi } from '../../src/api/client';
import type { FileInput } from '../../src/domain/contracts';
import type { FilingState } from '../../src/domain/filing/states';
import { needFiling } from '../../src/ledger/filings/filings';
import { markSending } from '../../src/ledger/gates/send';
import { withTransaction } from '../../src/ledger/pool';
import { writeGrant } from '../../src/ledger/principals/grants';
import { addPrincipal } from '../../src/ledger/principals/principals';
import { shownOfFiling } from '../../src/ledger/principals/granted-words';
import { removePrincipal } from '../../src/starter/principals';
import type { FilingBody } from '../../src/server/views/filing';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { abandonUpdate, approveUpdate } from '../../src/workflows/messages';
import { openDoor } from '../activities/door';
import { approvalBy, principalOf } from '../support/principals';
import { KAVERI, messageOf, onboard, openDoorStage, type DoorStage, type ProblemBody } from './door-stage';

let stage: DoorStage;
let exporterId: string;
let maker: string;
let checker: string;

beforeAll(async () => {
  stage = await openDoorStage();
  exporterId = await onboard(stage);
  maker = await stage.principal(['maker'], { name: 'asha' });
  checker = await stage.principal(['checker'], { name: 'ravi' });
  const { status } = await stage.ask('PATCH', `/v1/exporters/${KAVERI.email}`, { json: { approval: 'required' } });
  expect(status).toBe(200);
}, 300_000);
afterAll(() => stage?.close());

const message = (document: string) => messageOf(stage, document);

/** A filing of a maker that waits for approval. */
async function waiting(reference: string): Promise<FilingBody> {
  const json = { exporter: exporterId, reference, message: await message(reference) };
  const { body } = await stage.ask<FilingBody>('POST', '/v1/filings', { token: maker, json });
  expect(body).toMatchObject({ state: 'awaiting_approval', madeBy: 'asha' });
  return body;
}

/** An update as anybody may send it who reaches the namespace. */
const approve = ({ workflowId }: FilingBody, args: { by: string; grant?: string }) =>
  stage.deps.temporal.workflow.getHandle(workflowId).executeUpdate(approveUpdate, { args: [args] });
const refusedWith = (why: RegExp) => ({ cause: { message: expect.stringMatching(why) as string } });

it('approves nothing for who has no grant, or one that is for something else, void or used', async () => {
  const { pool } = stage.ledger;
  const [held, other] = [await waiting('GRANT-1'), await waiting('GRANT-2')];
  const history = await stage.deps.temporal.workflow.getHandle(held.workflowId).fetchHistory();
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  const { grant: makers } = JSON.parse(Buffer.from(started ?? []).toString()) as { grant: string };
  const othersGrant = await approvalBy(pool, 'ravi', other.filingId);
  const old = await approvalBy(pool, 'ravi', held.filingId);
  await pool.query('ALTER TABLE grants DISABLE TRIGGER USER');
  await pool.query(`UPDATE grants SET granted_at = now() - interval '25 hours' WHERE grant_id = $1`, [old.grant]);
  await pool.query('ALTER TABLE grants ENABLE TRIGGER USER');
  const needs = /a name alone proves nobody/u;
  const isVoid = /its grant is void/u;
  for (const [what, grant, why] of [
    ['no grant', undefined, needs],
    ['one that was made up', '6f1c1f0e-0000-4000-8000-000000000000', isVoid],
    ['one of the wrong form', "x'; --", isVoid],
    ['that of the maker, for filing it', makers, isVoid],
    ['that of a checker, for another filing', othersGrant.grant, isVoid],
    ['one that is void', old.grant, isVoid],
  ] as const) {
    const asked = approve(held, { by: 'ravi', ...(grant !== undefined && { grant }) });
    expect({ what, refused: await asked.catch((error: unknown) => error) }).toMatchObject({
      what,
      refused: refusedWith(why),
    });
  }
  await approve(other, othersGrant);
  await expect(approve(held, othersGrant)).rejects.toMatchObject(refusedWith(isVoid));
  const { body } = await stage.ask<FilingBody>('GET', '/v1/filings/GRANT-1');
  expect(body).toMatchObject({ state: 'awaiting_approval', approvedBy: null });
});

it('approves what was looked at, and not what was filed under its reference since', async () => {
  const shown = await waiting('SWAP-1');
  const path = (name: string, action: string) => `/v1/filings/${encodeURIComponent(name)}/${action}`;
  await stage.ask('POST', path('SWAP-1', 'abandon'), { token: maker, json: { note: 'no' } });
  const json = { exporter: exporterId, reference: 'SWAP-1', n: 2, message: await message('SWAP-OTHER') };
  const { body: other } = await stage.ask<FilingBody>('POST', '/v1/filings', { token: maker, json });
  const ask = (name: string, body: object) =>
    stage.ask<FilingBody & ProblemBody>('POST', path(name, 'approve'), { token: checker, json: body });
  expect(await ask('SWAP-1', {})).toMatchObject({ status: 409, body: { code: 'approve_refused' } });
  const { contentHash } = shown;
  expect(await ask(other.filingId, { contentHash })).toMatchObject({ status: 409, body: { code: 'approve_refused' } });
  const approved = await ask('SWAP-1#2', { contentHash: other.contentHash });
  expect(approved).toMatchObject({ status: 200, body: { filingId: other.filingId, approvedBy: 'ravi' } });
});

it('takes no grant of a principal whose time is over, or that was removed and added again', async () => {
  const { pool } = stage.ledger;
  const held = await waiting('GRANT-9');
  const expiring = await approvalBy(pool, 'expiring', held.filingId);
  await pool.query(`UPDATE principals SET expires_at = now() - interval '1 hour' WHERE name = 'expiring'`);
  await expect(approve(held, expiring)).rejects.toMatchObject(refusedWith(/its time was over/u));
  const leaver = await approvalBy(pool, 'leaver', held.filingId);
  const { principalId } = await principalOf(pool, 'leaver');
  await pool.query('UPDATE principals SET removed_at = now() WHERE principal_id = $1', [principalId]);
  const again = { mode: 'test', name: 'leaver', isSystem: false, roles: ['checker'], exporters: null } as const;
  await addPrincipal(pool, { ...again, expiresAt: null });
  await expect(approve(held, leaver)).rejects.toMatchObject(refusedWith(/no principal any more/u));
});

it('sends nothing that nobody approved, for who answers workflow tasks instead of a worker', async () => {
  const { filingId } = await waiting('GRANT-3');
  const { documents } = stage.deps;
  const steps = await openDoor(stage.ledger, {} as FilingApi, (deps) => ({ ...deps, documents }));
  const { seq } = await needFiling(stage.ledger.pool, filingId);
  const move = (state: FilingState, moves: number) => ({
    ...{ filingId, seq: seq + moves, state, attention: null },
    event: { kind: state, text: state },
  });
  expect(await steps.run('recordApproval', { wordId: '4711', move: move('checking', 1) })).toMatchObject({
    refused: expect.any(String) as string,
    filing: null,
  });
  await steps.run('recordProgress', move('checking', 1), { activityId: 'a' });
  await steps.run('recordProgress', move('submitting', 2), { activityId: 'b' });
  await steps.run('openAttempt', { filingId, seq: seq + 2, submission: 1 }, { activityId: 'c' });
  const attempt = {
    attemptId: `${filingId}-1-1`,
    sender: 's',
    payloadHash: 'h',
    settleMs: 1,
    timeoutMs: 1,
    at: new Date(),
  };
  const mark = await withTransaction(stage.ledger.pool, (client) => markSending(client, attempt));
  expect(mark).toMatchObject({ marked: false, why: 'unapproved' });
  await steps.close();
});

it('files nothing in the name of a principal for who has its name alone, or a grant that was used', async () => {
  const { temporal, taskQueue } = stage.deps;
  const { workflowId } = await waiting('GRANT-4');
  const history = await temporal.workflow.getHandle(workflowId).fetchHistory();
  const data = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  const used = JSON.parse(Buffer.from(data ?? []).toString()) as FileInput;
  const file = (reference: string, more: Partial<FileInput>) =>
    temporal.workflow.execute<typeof fileRemittances>('fileRemittances', {
      workflowId: `file/test/${reference}`,
      taskQueue,
      args: [{ ...used, ...more, awaitUpdate: undefined, reference }],
    });
  expect(await file('FORGED-1', { grant: undefined })).toMatchObject({
    state: 'refused',
    errors: [{ code: 'grant_needed' }],
  });
  expect(await file('FORGED-2', {})).toMatchObject({ state: 'refused', errors: [{ code: 'grant_refused' }] });
});

it('carries out what was granted only while the principal may', async () => {
  const { pool } = stage.ledger;
  const cases: [name: string, why: RegExp, change: (name: string) => Promise<unknown>][] = [
    ['leaving', /no principal any more/u, (name) => removePrincipal(stage.deps, { name, by: 'a test' })],
    [
      'demoted',
      /has viewer/u,
      (name) => pool.query(`UPDATE principals SET roles = '{viewer}' WHERE name = $1`, [name]),
    ],
    ['moved', /may not see/u, (name) => pool.query(`UPDATE principals SET exporters = '{x}' WHERE name = $1`, [name])],
  ];
  const held = await waiting('GRANT-5');
  for (const [name, why, change] of cases) {
    await principalOf(pool, name);
    const granted = await approvalBy(pool, name, held.filingId);
    await change(name);
    await expect(approve(held, granted)).rejects.toMatchObject(refusedWith(why));
  }
  // The filing waits on, and whoever may approves it.
  const { body } = await stage.ask<FilingBody>('POST', '/v1/filings/GRANT-5/approve', { token: checker, json: {} });
  expect(body).toMatchObject({ approvedBy: 'ravi' });
});

it('gives a filing up for its maker, and not for another one whose grant does not hold', async () => {
  const held = await waiting('GRANT-6');
  const { pool } = stage.ledger;
  const usha = await principalOf(pool, 'usha', ['maker']);
  const filing = await needFiling(pool, held.filingId);
  const shown = await shownOfFiling(pool, 'abandon', filing);
  const deed = { action: 'abandon' as const, exporterId, filingId: held.filingId, shown };
  const abandon = (by: string, grant: string) =>
    stage.deps.temporal.workflow
      .getHandle(held.workflowId)
      .executeUpdate(abandonUpdate, { args: [{ by, note: 'not wanted', grant }] });
  const asked = abandon('usha', await writeGrant(pool, usha, deed));
  await expect(asked).rejects.toMatchObject(refusedWith(/its own filings alone/u));
  const asha = await principalOf(pool, 'asha');
  // A name alone may give up; one with a grant that is void is no name alone.
  await expect(abandon('asha', 'made-up')).rejects.toMatchObject(refusedWith(/its grant is void/u));
  const grant = await writeGrant(pool, asha, deed);
  expect(await abandon('asha', grant)).toMatchObject({ state: 'abandoned' });
  const { rows } = await pool.query('SELECT grant_id, void_grant FROM words WHERE filing_id = $1 ORDER BY word_id', [
    held.filingId,
  ]);
  expect(rows.slice(1)).toEqual([
    { grant_id: null, void_grant: 'made-up' },
    { grant_id: grant, void_grant: null },
  ]);
});

it('takes the policy off for two admins, and records who', async () => {
  const set = (token: string, approval: string) =>
    stage.ask<ProblemBody & { requiresApproval: boolean }>('PATCH', `/v1/exporters/${exporterId}`, {
      token,
      json: { approval },
    });
  const [one, two] = await Promise.all([stage.principal(['admin']), stage.principal(['admin'])]);
  for (const token of [one, one]) {
    const { status, body } = await set(token, 'off');
    expect([status, body.requiresApproval]).toEqual([202, true]);
  }
  const { status, body } = await set(two, 'off');
  expect([status, body.requiresApproval]).toEqual([200, false]);
  // What two said once does not say it again.
  await set(one, 'required');
  expect((await set(two, 'off')).status).toBe(202);
});
