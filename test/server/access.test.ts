/** Who may what over HTTP: tokens, roles, exporters, the record of it, and what a name proves without a token. */
import { randomUUID } from 'node:crypto';
import type { Role } from '../../src/domain/principal';
import { everyRow } from '../support/postgres';
import { eventually } from '../support/processes';

import { filingDateFromAnything } from '../../src/domain/dates';
import { removePrincipal } from '../../src/starter/principals';
import type { FilingBody } from '../../src/server/views/filing';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { filingQuery, pokeSignal } from '../../src/workflows/messages';
import { askHttp, KAVERI, messageOf, onboard, useHttpStage, watchedPool } from './http-stage';
import type { ProblemBody } from './http-stage';

const stage = useHttpStage();
let exporterId: string;

describe('a password that is handed in', () => {
  const MARK = 'Marked-Pa55word-QX';
  const answered: string[] = [];

  async function send(method: string, path: string, json: unknown) {
    const reply = await stage.ask<ProblemBody>(method, path, { json });
    answered.push(reply.bytes.toString(), JSON.stringify([...reply.headers]));
    return reply.status;
  }

  it('goes to the vault, wrong or right, and nowhere else', async () => {
    const { email, username, iec } = KAVERI;
    const customer = { name: 'Kaveri Softworks', email, iec };
    const path = `/v1/exporters/${email}/credentials`;
    // Refused before anything is stored: an unknown field, a wrong type, no JSON.
    expect(await send('POST', '/v1/exporters', { ...customer, username, password: MARK, x: 1 })).toBe(400);
    expect(await send('POST', '/v1/exporters', { ...customer, username, password: { MARK } })).toBe(400);
    expect(await send('POST', '/v1/exporters', { ...customer, password: MARK })).toBe(400);
    const broken = await stage.ask('POST', '/v1/exporters', {
      body: `{"password": "${MARK}", oops`,
      headers: { 'content-type': 'application/json' },
    });
    expect(broken.status).toBe(400);
    answered.push(broken.bytes.toString());
    // A wrong password that the portal rejects, and one for an exporter that there is.
    expect(await send('POST', '/v1/exporters', { ...customer, username, password: `${MARK}-1` })).toBe(202);
    await eventually(async () => {
      const { status } = await stage.ask('GET', `/v1/exporters/${email}`);
      return status === 200;
    });
    await eventually(async () => (await send('PUT', path, { username, password: `${MARK}-2` })) === 202);
    exporterId = await onboard(stage);
    expect(exporterId).toEqual(expect.any(String));
    expect(await send('PUT', path, { username, password: `${MARK}-3` })).toBe(202);

    const places = {
      answers: answered.join('\n'),
      logs: stage.logs.join('\n'),
      ledger: await everyRow(stage.ledger.pool),
      histories: await histories(),
    };
    for (const [place, text] of Object.entries(places)) {
      expect([place, text.length > 100]).toEqual([place, true]);
      expect([place, text.includes(MARK)]).toEqual([place, false]);
      expect([place, text.includes(Buffer.from(MARK).toString('base64').slice(0, 20))]).toEqual([place, false]);
    }
    // The search finds what is there.
    expect(places.ledger).toContain(email);
    expect(places.histories).toContain('credentialsRef');
  });

  async function histories(): Promise<string> {
    const { workflow } = stage.deps.temporal;
    const texts: string[] = [];
    for await (const { workflowId, runId } of workflow.list()) {
      const history = await workflow.getHandle(workflowId, runId).fetchHistory();
      texts.push(
        JSON.stringify(history, (_key, value: unknown) => {
          const bytes = value as { type?: string; data?: number[] };
          if (value instanceof Uint8Array) return Buffer.from(value).toString();
          return bytes?.type === 'Buffer' && bytes.data ? Buffer.from(bytes.data).toString() : value;
        }),
      );
    }
    return texts.join('\n');
  }
});

describe('who may what', () => {
  let eBRCNumber: string;
  let filingId: string;
  /** An exporter of another company. */
  const OTHER = 'aaaaaaaa-0000-4000-8000-000000000001';

  beforeAll(async () => {
    await stage.ledger.pool.query(
      `INSERT INTO exporters (exporter_id, mode, name, email) VALUES ($1, 'test', 'Other', 'other@x.example')`,
      [OTHER],
    );
    const json = { exporter: exporterId, reference: 'ACCESS-1', message: await messageOf(stage, 'ACCESS-1') };
    const filed = await stage.ask('POST', '/v1/filings', { json, headers: { prefer: 'wait=60' } });
    filingId = String(filed.body['filingId']);
    const { body } = await stage.ask<{ items: { eBRCNumber: string }[] }>('GET', '/v1/filings/ACCESS-1/rows');
    eBRCNumber = body.items[0]?.eBRCNumber ?? '';
  });

  interface AuditRow {
    principal: string | null;
    action: string;
    outcome: string;
    code: string | null;
    subject: string | null;
    uses: number;
  }

  async function audited(where: string): Promise<AuditRow[]> {
    const statement = `SELECT principal, action, outcome, code, subject, uses FROM audit_events WHERE ${where} ORDER BY audit_id`;
    const read = async () => (await stage.ledger.pool.query<AuditRow>(statement)).rows;
    await eventually(async () => (await read()).length > 0, 10_000);
    return read();
  }

  it('asks for a token, and tells a wrong one nothing', async () => {
    const wrong = [
      null,
      'x',
      `ebrc_test_${'A'.repeat(43)}`,
      `ebrc_live_${'A'.repeat(43)}`,
      'ebrc_test_; DROP TABLE principals',
      'x'.repeat(5_000),
    ];
    for (const token of wrong) {
      for (const path of ['/v1/filings', '/v1/filings/ACCESS-1', '/v1/exporters/nobody']) {
        const { status, body, headers } = await stage.ask<ProblemBody>('GET', path, { token });
        expect([status, body.code, headers.get('www-authenticate')]).toEqual([401, 'unauthorized', 'Bearer']);
      }
    }
    const rows = await audited("outcome = 'refused' AND principal IS NULL");
    expect(rows.reduce((sum, { uses }) => sum + uses, 0)).toBeGreaterThan(0);
    // Counted, not a row for each: whoever has no token cannot fill the table.
    expect(rows.length).toBeLessThan(10);
  });

  it('costs one look-up for a wrong token, and shares those of a token that is used often, but none from before', async () => {
    const statements: string[] = [];
    let held: Promise<void> | undefined;
    const watched = watchedPool(stage.ledger.pool, async (statement, query) => {
      if (statement.includes('principal_tokens')) statements.push(statement);
      const answer = await query();
      await held;
      return answer;
    });
    const httpApi = await stage.another({ pool: watched });
    const status = async (token: string) => (await askHttp(httpApi.url, 'GET', '/v1/filings', { token })).status;
    try {
      expect(await status(`ebrc_test_${'B'.repeat(43)}`)).toBe(401);
      expect(statements).toHaveLength(1);
      expect(await status('something')).toBe(401);
      expect(statements).toHaveLength(1);
      const often = await stage.principal(['viewer'], { name: 'often' });
      let release = () => {};
      held = new Promise((done) => (release = done));
      const before = status(often);
      await eventually(() => Promise.resolve(statements.length === 2));
      await removePrincipal(stage.deps, { name: 'often', by: 'a test' });
      const after = Promise.all(Array.from({ length: 20 }, () => status(often)));
      await askHttp(httpApi.url, 'GET', '/healthz');
      release();
      // The first was seen before the removal; the others came later, and share look-ups of their own.
      expect([await before, ...(await after)]).toEqual([200, ...Array.from({ length: 20 }, () => 401)]);
      expect(statements.length).toBeLessThan(12);
    } finally {
      await httpApi.close();
    }
  });

  /** Who may call each route; what a wrong role is told names what is missing. */
  const MAY: [method: string, path: string, roles: Role[], json?: unknown][] = [
    ['POST', '/v1/exporters', ['admin'], { name: 'x', email: 'x@x.example' }],
    ['PATCH', '/v1/exporters/nobody', ['admin'], { approval: 'off' }],
    ['PUT', '/v1/exporters/nobody/credentials', ['admin'], { username: 'u', password: 'p' }],
    ['POST', '/v1/filings', ['maker'], {}],
    ['POST', '/v1/filings/none/approve', ['checker'], {}],
    ['POST', '/v1/filings/none/resolve', ['checker'], {}],
    ['POST', '/v1/filings/none/abandon', ['maker', 'checker'], {}],
    ['POST', '/v1/filings/none/correct', ['maker'], {}],
    ['POST', '/v1/filings/none/resume', ['maker', 'checker', 'admin'], {}],
    ['POST', '/v1/findings/1/acknowledge', ['checker', 'admin'], {}],
    ['POST', '/v1/reconciliations', ['maker', 'checker', 'admin'], { from: 'x' }],
    ['GET', '/v1/filings', ['viewer', 'maker', 'checker', 'admin']],
    ['GET', '/v1/exporters', ['viewer', 'maker', 'checker', 'admin']],
    ['GET', '/v1/certificates', ['viewer', 'maker', 'checker', 'admin']],
  ];

  it.each(['viewer', 'maker', 'checker', 'admin'] as const)(
    'a %s may what its role is for, and nothing else',
    async (role) => {
      const token = await stage.principal([role]);
      for (const [method, path, roles, json] of MAY) {
        if (path === '/v1/exporters' && method === 'POST' && roles.includes(role)) continue;
        const { status, body } = await stage.ask<ProblemBody & { missing?: string[] }>(method, path, { token, json });
        const refused = status === 403 && body.code === 'role_missing';
        expect([method, path, refused]).toEqual([method, path, !roles.includes(role)]);
        if (refused) expect(body.missing).toEqual(roles);
      }
    },
  );

  it('shows a principal its own exporters, and answers for all others as for what is not there', async () => {
    const token = await stage.principal(['viewer', 'maker', 'checker', 'admin'], {
      // One of them has yet to be onboarded.
      exporters: [OTHER, randomUUID()],
    });
    const get = (path: string) => stage.ask<ProblemBody & { items: unknown[] }>('GET', path, { token });
    const nothing = `/v1/filings/${'0'.repeat(8)}`;
    for (const [path, like] of [
      ['/v1/filings/ACCESS-1', nothing],
      [`/v1/filings/${filingId}`, nothing],
      ['/v1/filings/ACCESS-1/rows', `${nothing}/rows`],
      ['/v1/filings/ACCESS-1/events', `${nothing}/events`],
      ['/v1/filings/ACCESS-1/evidence', `${nothing}/evidence`],
      ['/v1/filings/ACCESS-1/workbook', `${nothing}/workbook`],
      [`/v1/exporters/${exporterId}`, '/v1/exporters/nobody@x.example'],
      [`/v1/exporters/${KAVERI.email}/irms`, '/v1/exporters/nobody@x.example/irms'],
      [`/v1/exporters/${exporterId}/template`, '/v1/exporters/nobody@x.example/template'],
      [`/v1/certificates/${eBRCNumber}`, '/v1/certificates/NONE1'],
      [`/v1/certificates/${eBRCNumber}/pdf`, '/v1/certificates/NONE1/pdf'],
      [`/v1/filings?exporter=${exporterId}`, '/v1/filings?exporter=nobody@x.example'],
      [`/v1/certificates?exporter=${exporterId}`, '/v1/certificates?exporter=nobody@x.example'],
      [`/v1/findings?exporter=${exporterId}`, '/v1/findings?exporter=nobody@x.example'],
    ] as const) {
      const [hidden, absent] = await Promise.all([get(path), get(like)]);
      expect([path, hidden.status, absent.status]).toEqual([path, 404, 404]);
      // Nothing but the text of the question differs.
      expect(hidden.body.code).toBe(absent.body.code);
      expect(Object.keys(hidden.body)).toEqual(Object.keys(absent.body));
    }
    for (const list of ['/v1/filings', '/v1/certificates', '/v1/findings'])
      expect((await get(list)).body.items).toEqual([]);
    expect((await get('/v1/exporters')).body.items).toMatchObject([{ exporterId: OTHER }]);
    const act = (method: string, path: string, json: unknown) => stage.ask<ProblemBody>(method, path, { token, json });
    for (const [method, path, json] of [
      ['POST', 'filings/ACCESS-1/approve', {}],
      ['POST', 'filings/ACCESS-1/resume', {}],
      ['POST', 'filings/ACCESS-1/abandon', { note: 'x' }],
      ['POST', 'filings/ACCESS-1/resolve', { as: 'not-filed', note: 'x' }],
      ['PUT', `exporters/${exporterId}/credentials`, { username: 'u', password: 'p' }],
      ['PATCH', `exporters/${exporterId}`, { approval: 'off' }],
    ] as const)
      expect([path, (await act(method, `/v1/${path}`, json)).status]).toEqual([path, 404]);
    expect((await act('POST', '/v1/exporters', { name: 'N', email: 'new@x.example' })).status).toBe(403);
    expect((await act('POST', '/v1/reconciliations', {})).body.code).toBe('exporters_limited');
    const acknowledge = async (of: string, kind: string) => {
      const { rows } = await stage.ledger.pool.query<{ id: string }>(
        `INSERT INTO findings (mode, iec, key, kind, exporter_id, text, first_seen_at, last_seen_at)
         SELECT mode, iec, $2, $2, exporter_id, 'x', now(), now() FROM exporters WHERE exporter_id = $1
         RETURNING finding_id AS id`,
        [of, kind],
      );
      return act('POST', `/v1/findings/${rows[0]?.id ?? ''}/acknowledge`, { note: 'seen' });
    };
    // A contradiction too, which is no finding of a reconciliation.
    expect((await acknowledge(OTHER, 'iec_differs')).status).toBe(200);
    const foreign = await acknowledge(exporterId, 'status_changed');
    expect([foreign.status, foreign.body.detail]).toEqual([404, expect.stringMatching(/GET \/v1\/findings lists/)]);
    const message = await messageOf(stage, 'ACCESS-2');
    const file = (more: object) => act('POST', '/v1/filings', { message, declaration: 'Y', ...more });
    expect((await file({ exporter: exporterId, reference: 'ACCESS-2' })).status).toBe(404);
    const taken = await file({ exporter: OTHER, reference: 'ACCESS-1' });
    expect([taken.status, JSON.stringify(taken.body).includes(filingId)]).toEqual([409, false]);
  });

  it('shows its own exporters whole', async () => {
    const token = await stage.principal(['viewer'], { exporters: [KAVERI.email] });
    expect((await stage.ask('GET', '/v1/filings/ACCESS-1', { token })).status).toBe(200);
    expect((await stage.ask('GET', `/v1/certificates/${eBRCNumber}/pdf`, { token })).status).toBe(200);
    const { body } = await stage.ask<{ items: unknown[] }>('GET', '/v1/filings', { token });
    expect(body.items).toHaveLength(1);
  });

  it('lets a maker abandon only filings of its own', async () => {
    const own = await stage.principal(['maker'], { name: 'mine' });
    const other = await stage.principal(['maker'], { name: 'theirs' });
    const message = await messageOf(stage, 'ACCESS-3');
    const json = { exporter: exporterId, reference: 'ACCESS-3', approval: true, message };
    await stage.ask('POST', '/v1/filings', { token: own, json });
    const abandon = (token: string) =>
      stage.ask('POST', '/v1/filings/ACCESS-3/abandon', { token, json: { note: 'x' } });
    expect((await abandon(other)).status).toBe(403);
    expect((await abandon(own)).status).toBe(200);
  });

  it('records uses and refusals with the principal, and never a token', async () => {
    const token = await stage.principal(['viewer'], { name: 'watched' });
    await stage.ask('GET', `/v1/filings/${token}`, { token });
    await stage.ask('POST', '/v1/filings/ACCESS-1/approve', { token, json: {} });
    expect(await audited("principal = 'watched' AND outcome = 'refused' AND code = 'role_missing'")).toMatchObject([
      { action: 'POST /v1/filings/:filing/approve', outcome: 'refused', code: 'role_missing', subject: 'ACCESS-1' },
    ]);
    const approvals = await audited("action LIKE 'POST%abandon' AND outcome = 'used' AND principal = 'mine'");
    expect(approvals).toMatchObject([{ subject: 'ACCESS-3', uses: 1 }]);
    expect(await audited("principal = 'watched' AND code = 'unknown_filing'")).toMatchObject([
      { subject: 'ebrc_test_…' },
    ]);
    const { rows } = await stage.ledger.pool.query<{ all: string }>(
      'SELECT json_agg(a)::text AS all FROM audit_events a',
    );
    expect(rows[0]?.all).not.toMatch(/ebrc_test_[\w-]{43}/);
    expect(stage.logs.length).toBeGreaterThan(10);
    expect(stage.logs.join('')).not.toMatch(/ebrc_test_[\w-]{43}|ACCESS-1|kaveri/i);
  });

  it('goes on recording when a name cannot be stored', async () => {
    const token = await stage.principal(['viewer', 'maker'], { name: 'odd' });
    const astral = encodeURIComponent(`a${'😀'.repeat(160)}`);
    const answers = await Promise.all([
      stage.ask('POST', `/v1/filings/${astral}/abandon`, { token, json: { note: 'x' } }),
      stage.ask('POST', '/v1/filings/a%00b/abandon', { token, json: { note: 'x' } }),
      stage.ask('GET', '/v1/filings/a%00b', { token }),
      stage.ask('POST', '/v1/filings/ACCESS-1/approve', { token, json: {} }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 400, 400, 403]);
    expect(await audited("principal = 'odd' AND code = 'role_missing'")).toMatchObject([{ uses: 1 }]);
    const used = await audited("principal = 'odd' AND outcome = 'used'");
    expect(used.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(['ab', expect.stringMatching(/^a😀+…$/u)]),
    );
  });

  it('slows down a principal that asks too often, and no other', async () => {
    const httpApi = await stage.another({}, { bounds: { requestsPerSecond: 3 } });
    try {
      const [often, seldom] = await Promise.all([stage.principal(['viewer']), stage.principal(['viewer'])]);
      const get = (token: string) => askHttp<ProblemBody>(httpApi.url, 'GET', '/v1/filings', { token });
      const answers = await Promise.all(Array.from({ length: 20 }, () => get(often)));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(5);
      expect(refused[0]?.body).toMatchObject({ code: 'too_many_requests', status: 429 });
      expect(refused[0]?.headers.get('retry-after')).toBe('1');
      expect((await get(seldom)).status).toBe(200);
    } finally {
      await httpApi.close();
    }
  });
});

/** Somebody holds the Temporal namespace and a name, and no token: nothing is approved. */
describe('without a token', () => {
  let maker: string;
  let checker: string;

  beforeAll(async () => {
    maker = await stage.principal(['maker'], { name: 'asha' });
    checker = await stage.principal(['checker'], { name: 'ravi' });
    const { status } = await stage.ask('PATCH', `/v1/exporters/${KAVERI.email}`, { json: { approval: 'required' } });
    expect(status).toBe(200);
  });

  const message = (document: string) => messageOf(stage, document);

  /** A filing of a maker that waits for approval. */
  async function waiting(reference: string): Promise<FilingBody> {
    const json = { exporter: exporterId, reference, message: await message(reference) };
    const { body } = await stage.ask<FilingBody>('POST', '/v1/filings', { token: maker, json });
    expect(body).toMatchObject({ state: 'awaiting_approval', madeBy: 'asha' });
    return body;
  }

  it('a run that is woken or ended approves nothing', async () => {
    const { workflowId } = await waiting('HELD-1');
    const run = stage.deps.temporal.workflow.getHandle(workflowId);
    await run.signal(pokeSignal);
    await run.terminate('a test');
    const again = await stage.ask<FilingBody>('POST', '/v1/filings/HELD-1/resume', { json: {} });
    expect(again.status).toBe(200);
    await eventually(async () => (await run.query(filingQuery)).state === 'awaiting_approval');
    const { body } = await stage.ask<FilingBody>('GET', '/v1/filings/HELD-1');
    expect(body).toMatchObject({ state: 'awaiting_approval', approvedAt: null });
  });

  it('a run that is started in a name waits for approval like any other', async () => {
    const { temporal, taskQueue } = stage.deps;
    const unfiled = await message('FORGED-1');
    // Workflows take the service's dates.
    for (const row of unfiled.ebrcBulkGenDtos)
      Object.assign(row, {
        irmDt: filingDateFromAnything(row.irmDt),
        sbCumInvoiceDate: filingDateFromAnything(row.sbCumInvoiceDate),
      });
    const handle = await temporal.workflow.start<typeof fileRemittances>('fileRemittances', {
      workflowId: 'file/test/FORGED-1',
      taskQueue,
      args: [
        { mode: 'test', exporterId, reference: 'FORGED-1', message: unfiled, madeBy: 'ravi' },
      ] as unknown as Parameters<typeof fileRemittances>,
    });
    await eventually(async () => (await handle.query(filingQuery)).state === 'awaiting_approval');
    // Nobody is known to have made it, so that it takes two checkers.
    const approve = () => stage.ask<FilingBody>('POST', '/v1/filings/FORGED-1/approve', { token: checker, json: {} });
    expect(await approve()).toMatchObject({ body: { state: 'awaiting_approval', approvedAt: null } });
    await handle.terminate('a test');
  });

  it('approves what was looked at, and nothing else', async () => {
    const [shown, other] = [await waiting('SWAP-1'), await waiting('SWAP-2')];
    const ask = (contentHash: string) =>
      stage.ask<FilingBody & ProblemBody>('POST', '/v1/filings/SWAP-2/approve', {
        token: checker,
        json: { contentHash },
      });
    expect(await ask(shown.contentHash)).toMatchObject({ status: 409, body: { code: 'approve_refused' } });
    const approved = await ask(other.contentHash);
    expect(approved).toMatchObject({
      status: 200,
      body: { filingId: other.filingId, approvedAt: expect.any(String) as string },
    });
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
});
