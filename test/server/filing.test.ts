/** The main job over HTTP: onboard, file, wait, read certificates. */
import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/processes';
import { contentsOfZip, unsummed } from '../support/zips';
import { pageOfCertificates } from '../../src/ledger/certificates/certificates';
import type { FilingBody } from '../../src/server/views/filing';
import { createFilingWatch } from '../../src/server/views/watch';
import { KAVERI, messageOf, onboard, useHttpStage, watchedPool, type ProblemBody } from './http-stage';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeApi } from '../../src/server/http-api';

let exporterId: string;
const stage = useHttpStage(async (opened) => (exporterId = await onboard(opened)));

const file = <T = FilingBody>(json: unknown, headers: Record<string, string> = {}) =>
  stage.ask<T>('POST', '/v1/filings', { json, headers });
const filing = async (document: string, more: Record<string, unknown> = {}) => ({
  exporter: KAVERI.email,
  reference: document,
  message: await messageOf(stage, document),
  ...more,
});

interface RowBody {
  row: number;
  state: string;
  eBRCNumber: string;
  eBRCDate: string;
  sha256: string;
}

it('files, waits for the end, and answers rows, certificates and PDFs', async () => {
  const filed = await file(await filing('API/1'), { prefer: 'wait=60' });
  expect([filed.status, filed.body.state]).toEqual([201, 'certified']);
  expect(filed.headers.get('preference-applied')).toBe('wait=60');
  expect(filed.headers.get('location')).toBe(filed.body.links['self']);
  expect(filed.body).toMatchObject({
    reference: 'API/1',
    n: 1,
    exporterId,
    madeBy: 'everything',
    counts: { rows: 1, certified: 1 },
  });
  expect(filed.body).toMatchObject({ requestId: expect.any(String), dgftAckId: expect.any(String), attempt: 1 });

  const rows = await stage.ask<{ items: RowBody[]; next: null }>('GET', '/v1/filings/API%2F1/rows');
  const [row] = rows.body.items;
  expect(rows.body).toMatchObject({ items: [{ row: 1, serialNo: 1, state: 'certified', errors: [] }], next: null });
  const one = await stage.ask('GET', `/v1/certificates/${row?.eBRCNumber}`);
  expect(one.body).toMatchObject({ filingId: filed.body.filingId, reference: 'API/1', sha256: row?.sha256 });
  const listed = (document: string) =>
    stage.ask<{ items: unknown[] }>('GET', `/v1/certificates?document=${encodeURIComponent(document)}`);
  const { sbCumInvoiceNumber } = one.body as { sbCumInvoiceNumber: string };
  expect((await listed(sbCumInvoiceNumber)).body.items).toEqual([one.body]);
  expect((await listed('no such document')).body.items).toEqual([]);
  // Filing dates are ISO dates here, however the service writes them.
  const irms = await stage.ask<{ items: { irmDt: string; remittanceDate: string }[] }>(
    'GET',
    `/v1/exporters/${exporterId}/irms?limit=1`,
  );
  const { irmDt, remittanceDate } = irms.body.items[0] ?? {};
  const days = [row?.eBRCDate, one.body['eBRCDate'], irmDt, remittanceDate];
  for (const day of days) expect(day).toMatch(/^\d{4}-\d{2}-\d{2}$/u);
  const pdf = await stage.ask('GET', `/v1/certificates/${row?.eBRCNumber}/pdf`);
  const sha256 = createHash('sha256').update(pdf.bytes).digest();
  expect(pdf.bytes.toString('latin1')).toMatch(/^%PDF/);
  expect([pdf.headers.get('etag'), pdf.headers.get('content-digest')]).toEqual([
    `"${sha256.toString('hex')}"`,
    `sha-256=:${sha256.toString('base64')}:`,
  ]);
  const kept = await stage.ask('GET', `/v1/certificates/${row?.eBRCNumber}/pdf`, {
    headers: { 'if-none-match': `"${row?.sha256}"` },
  });
  expect([kept.status, kept.bytes.length]).toEqual([304, 0]);
  // A stored PDF that was changed or is gone is not answered as the one whose hash is named.
  const stored = stage.deps.documents.pathOf(`test.${row?.eBRCNumber}.pdf`);
  const askPdf = () => stage.ask<ProblemBody>('GET', `/v1/certificates/${row?.eBRCNumber}/pdf`);
  await writeFile(stored, Buffer.concat([pdf.bytes, Buffer.from('\n')]));
  expect(await askPdf()).toMatchObject({ status: 404, body: { code: 'no_pdf' } });
  await rm(stored);
  expect(await askPdf()).toMatchObject({ status: 404, body: { code: 'no_pdf' } });
  await writeFile(stored, pdf.bytes);
  expect((await askPdf()).status).toBe(200);
  // Missing PDFs that are late have the state of a late acknowledgement.
  const put = async (state: string, at: string) => {
    await stage.deps.pool.query(
      `UPDATE certificates SET archived_at = ${at} WHERE ebrc_number IN (SELECT ebrc_number FROM filing_rows WHERE filing_id = $1)`,
      [one.body['filingId']],
    );
    const set = `UPDATE filings SET state = '${state}', closed_at = ${at} WHERE filing_id = $1`;
    await stage.deps.pool.query(set, [one.body['filingId']]);
    return (await stage.ask<FilingBody>('GET', '/v1/filings/API%2F1')).body.stateText;
  };
  expect(await put('overdue', 'NULL')).toBe('1 of 1 PDFs are overdue and still asked for.');
  expect(await put('certified', 'now()')).toBe('Its row is certified.');
  const events = await stage.ask<{ items: { kind: string }[] }>('GET', '/v1/filings/API%2F1/events');
  expect(events.body.items.length).toBeGreaterThan(3);
});

it('takes the reference as the idempotency key', async () => {
  const body = await filing('API/2');
  const first = await file(body);
  const again = await file(body);
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.body.filingId).toBe(first.body.filingId);
  const other = await file<ProblemBody>({ ...(await filing('API/2b')), reference: 'API/2' });
  expect(other).toMatchObject({ status: 409, body: { code: 'reference_taken' } });
  expect(other.headers.get('content-type')).toContain('application/problem+json');
  const at = await Promise.all(Array.from({ length: 5 }, () => filing('API/3').then((each) => file(each))));
  expect(new Set(at.map(({ body: { filingId } }) => filingId)).size).toBe(1);
  expect(at.filter(({ status }) => ![200, 201].includes(status))).toEqual([]);

  const rejected = await filing('API/2c');
  const outcome = { match: { document: 'API/2c' }, processingStatus: 'Errored', errorDetails: ['ERR28: date'] };
  await fetch(`${stage.sandbox.controlUrl}/outcomes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(outcome),
  });
  await file(rejected, { prefer: 'wait=60' });
  const correct = () => stage.ask('POST', '/v1/filings/API%2F2c/correct', { json: { message: rejected.message } });
  const [corrected, repeated] = [await correct(), await correct()];
  expect([corrected.status, repeated.status]).toEqual([201, 200]);
  expect(repeated.body['filingId']).toBe(corrected.body['filingId']);
  expect(stage.sandbox.doubleFilings()).toEqual([]);
});

it('refuses rows that break a rule, row by row, and records nothing', async () => {
  const message = await messageOf(stage, 'API/4');
  message.ebrcBulkGenDtos[0]!.mappedIRMAmountFCC = -1;
  const refused = await file<ProblemBody>({ exporter: KAVERI.email, reference: 'API/4', message });
  expect(refused.status).toBe(422);
  expect(refused.body.errors).toContainEqual(expect.objectContaining({ field: 'mappedIRMAmountFCC', row: 1 }));
  expect((await stage.ask('GET', '/v1/filings/API%2F4')).status).toBe(404);
  const checked = await stage.ask('POST', '/v1/checks', { json: { exporter: exporterId, message } });
  expect(checked.body).toMatchObject({ ok: false, rows: 1 });
});

it('files a workbook, and answers it marked', async () => {
  const template = await stage.ask('GET', `/v1/exporters/${exporterId}/template`);
  expect(template.bytes.subarray(0, 2).toString()).toBe('PK');
  const form = new FormData();
  form.set('exporter', exporterId);
  form.set('uploadType', '103');
  form.set('file', new Blob([new Uint8Array(template.bytes)]), 'filled.xlsx');
  const checked = await stage.ask<{ ok: boolean; errors: unknown[] }>('POST', '/v1/checks', { body: form });
  expect([checked.status, checked.body.ok]).toEqual([200, false]);
  expect(checked.body.errors.length).toBeGreaterThan(0);
  const marked = await stage.ask('POST', '/v1/checks', {
    body: form,
    headers: { accept: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' },
  });
  expect([marked.status, marked.bytes.subarray(0, 2).toString()]).toEqual([200, 'PK']);
  form.set('reference', 'API/5');
  form.set('declaration', 'Y');
  expect((await stage.ask('POST', '/v1/filings', { body: form })).status).toBe(422);
});

it('pages through lists, and each entry stands in one page', async () => {
  const seen: string[] = [];
  let next: string | null = '';
  while (next !== null) {
    const cursor: string = next === '' ? '' : `&cursor=${next}`;
    const page = await stage.ask<{ items: FilingBody[]; next: string | null }>('GET', `/v1/filings?limit=1${cursor}`);
    seen.push(...page.body.items.map(({ filingId }) => filingId));
    next = page.body.next;
  }
  const all = await stage.ask<{ items: FilingBody[] }>('GET', '/v1/filings');
  expect(seen).toEqual(all.body.items.map(({ filingId }) => filingId));
  expect(seen.length).toBeGreaterThan(2);
  const wrong = await stage.ask<ProblemBody>('GET', '/v1/filings?limit=abc');
  expect(wrong).toMatchObject({ status: 400, body: { detail: 'limit: is no number; allowed: a number' } });
  // Certificates of other filings may come between the two readings.
  await eventually(async () => {
    const certificates = await pageOfCertificates(stage.ledger.pool, { mode: 'test', exporters: null, limit: 1_000 });
    const listed = await stage.ask<{ items: unknown[] }>('GET', '/v1/certificates?limit=500');
    return listed.body.items.length === certificates.length;
  });
});

it('waits for a second person, who is not the maker', async () => {
  const [maker, checker] = await Promise.all([
    stage.principal(['maker', 'checker'], { name: 'asha' }),
    stage.principal(['checker'], { name: 'ravi' }),
  ]);
  const json = await filing('API/6', { approval: true });
  const waits = await stage.ask<FilingBody>('POST', '/v1/filings', { token: maker, json });
  expect(waits.body).toMatchObject({ state: 'awaiting_approval', madeBy: 'asha', actions: ['approve', 'abandon'] });
  expect(waits.body).toMatchObject({ approval: 'maker', asked: true });
  const path = '/v1/filings/API%2F6/approve';
  expect(await stage.ask('POST', path, { token: maker, json: {} })).toMatchObject({
    status: 403,
    body: { code: 'maker_approves' },
  });
  const approved = await stage.ask<FilingBody>('POST', path, { token: checker });
  expect([approved.status, approved.body.approvedAt]).toEqual([200, expect.any(String)]);
  const late = await stage.ask<ProblemBody>('POST', path, { token: checker });
  expect([late.status, late.body.code]).toEqual([409, expect.stringMatching(/approve_refused|filing_ended/)]);
});

it('abandons what waits, and says so when it is too late', async () => {
  await file(await filing('API/7', { approval: true }));
  const path = '/v1/filings/API%2F7/abandon';
  const given = await stage.ask<FilingBody>('POST', path, { json: { note: 'not needed' } });
  expect([given.status, given.body.state]).toEqual([200, 'abandoned']);
  const late = await stage.ask('POST', '/v1/filings/API%2F1/abandon', { json: { note: 'x' } });
  expect(late).toMatchObject({ status: 409, body: { code: 'filing_ended', state: 'certified' } });
});

it('answers all evidence of a filing, with the hash of every file', async () => {
  const bundle = async (name: string) => {
    const { status, headers, bytes } = await stage.ask('GET', `/v1/filings/${encodeURIComponent(name)}/bundle`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/zip']);
    const files = await contentsOfZip(bytes);
    expect(unsummed(files)).toEqual([]);
    return files;
  };
  const json = <T>(files: ReadonlyMap<string, Buffer>, name: string) => JSON.parse(String(files.get(name))) as T;
  interface About {
    removed: { file: string }[];
    differs: { file: string }[];
  }
  await stage.ask('GET', '/v1/filings/API%2F6', { headers: { prefer: 'wait=60' } });
  await stage.ledger.pool.query(
    `INSERT INTO api_calls (mode, at, operation, exporter_id, status, latency_ms)
     SELECT mode, made_at, 'pushIrm', exporter_id, 200, 5 FROM filings WHERE reference = 'API/6'`,
  );
  const files = await bundle('API/6');
  const [attempt] = json<{ verdict: string; request_id: string }[]>(files, 'attempts.json');
  expect(attempt).toMatchObject({ verdict: 'accepted', request_id: expect.any(String) });
  const sent = json<{ ebrcBulkGenDtos: unknown[] }>(files, 'sent/attempt-1.json');
  expect(sent).toMatchObject({ decalarationFlag: 'Y', ebrcBulkGenDtos: [{ sbCumInvoiceNumber: 'API/6' }] });
  expect(json(files, 'filing.json')).toMatchObject([{ made_by: 'asha', reference: 'API/6' }]);
  // The approval that came too late is no decision.
  expect(json(files, 'decisions.json')).toMatchObject([{ kind: 'approve', principal: 'ravi', outcome: 'carried_out' }]);
  expect(json(files, 'about.json')).toMatchObject({ reference: 'API/6', removed: [], differs: [] });
  expect(json(files, 'calls.json')).toContainEqual(expect.objectContaining({ operation: 'pushIrm', kind: null }));

  // A workbook that was made for the send is in it as it was sent.
  await file(await filing('API/8', { channel: 'bulk' }));
  await stage.ask('GET', '/v1/filings/API%2F8', { headers: { prefer: 'wait=60' } });
  const bulk = await bundle('API/8');
  expect(bulk.get('sent/attempt-1.xlsx')?.subarray(0, 2).toString()).toBe('PK');
  expect(json(bulk, 'about.json')).toMatchObject({ removed: [], differs: [] });

  // What is gone, and what was rewritten, shows.
  const [row] = (await stage.ask<{ items: RowBody[] }>('GET', '/v1/filings/API%2F1/rows')).body.items;
  const pdf = `certificates/${row?.eBRCNumber}.pdf`;
  const first = await bundle('API/1');
  expect(createHash('sha256').update(first.get(pdf)!).digest('hex')).toBe(row?.sha256);
  const [certificate] = json<{ pdf_document: string }[]>(first, 'certificates.json');
  const [{ filing_id: filingId }] = json<[{ filing_id: string }]>(first, 'filing.json');
  await rm(stage.deps.documents.pathOf(certificate!.pdf_document));
  await stage.ledger.pool.query(
    `UPDATE filing_rows SET mapping = jsonb_set(mapping, '{billNo}', '"X"') WHERE filing_id = $1`,
    [filingId],
  );
  const later = await bundle('API/1');
  expect(later.has(pdf)).toBe(false);
  const about = json<About>(later, 'about.json');
  expect(about.removed.map(({ file }) => file)).toEqual([pdf]);
  expect(about.differs.map(({ file }) => file)).toEqual(['sent/attempt-1.json']);
  await stage.ledger.pool.query('UPDATE filings SET annotated = $2 WHERE filing_id = $1', [
    filingId,
    certificate!.pdf_document,
  ]);
  const workbook = await stage.ask<ProblemBody>('GET', '/v1/filings/API%2F1/workbook');
  expect([workbook.status, workbook.body.code]).toEqual([404, 'no_workbook']);
});

it('reconciles, and answers findings and reports', async () => {
  const run = await stage.ask('POST', '/v1/reconciliations', { json: { exporter: exporterId } });
  expect([run.status, run.body['runId']]).toEqual([202, expect.any(String)]);
  expect((await stage.ask('GET', '/v1/findings')).status).toBe(200);
  expect((await stage.ask('POST', '/v1/findings/0123456789ABCDEF/acknowledge', { json: { note: 'x' } })).status).toBe(
    404,
  );
  const daily = await stage.ask<{ groups: unknown[] }>('GET', '/v1/reports/daily');
  expect([daily.status, daily.body.groups.length > 0]).toEqual([200, true]);
  expect((await stage.ask('GET', '/v1/reports/ageing?on=2999-01-01')).status).toBe(400);
});

it('describes itself, without a token', async () => {
  const document = await stage.ask<{ openapi: string; paths: Record<string, unknown> }>('GET', '/v1/openapi.json', {
    token: null,
  });
  expect(document.body.openapi).toBe('3.1.0');
  expect(Object.keys(document.body.paths)).toContain('/v1/filings/{filing}/rows');
  const page = await stage.ask('GET', '/docs', { token: null });
  expect(page.bytes.toString()).toContain('/v1/filings/{filing}/approve');
  expect((await stage.ask('GET', '/readyz', { token: null })).body).toMatchObject({ status: 'ok' });
  expect((await stage.ask('GET', '/healthz', { token: null })).status).toBe(200);
  expect((await stage.ask('GET', '/metrics', { token: null })).bytes.toString()).toContain('ebrc_http_requests_total');
});

it('changes what the service knows of an exporter', async () => {
  const patch = (json: unknown) => stage.ask('PATCH', `/v1/exporters/${KAVERI.email}`, { json });
  const changed = await patch({ companyName: 'Kaveri Softworks Pvt Ltd' });
  const now = { companyName: 'Kaveri Softworks Pvt Ltd', name: 'Kaveri Softworks' };
  expect(changed).toMatchObject({ status: 200, body: now });
  expect(stage.sandbox.calls({ operation: 'update-customer' })).toHaveLength(1);
  for (const wrong of [{}, { name: ' ' }, { email: 'other@x.example' }]) expect((await patch(wrong)).status).toBe(400);
});

it('answers about a send that it is told the name of, and never about whatever stands at that moment', async () => {
  stage.sandbox.addFault({ operation: 'push-irm', kind: 'drop-before-accept' });
  const filed = await file(await filing('API-LOST'));
  const path = `/v1/filings/${filed.body.filingId}`;
  const shown = async () => (await stage.ask<FilingBody>('GET', path)).body;
  await eventually(async () => (await shown()).attempt !== null);
  const { attempt } = await shown();
  const resolve = (json: object, more: object = {}) =>
    stage.ask<ProblemBody>('POST', `${path}/resolve`, { json: { note: 'looked at the portal', ...json }, ...more });
  const unnamed = { status: 422, body: { code: 'attempt_missing', detail: expect.stringContaining(String(attempt)) } };
  expect(await resolve({ as: 'not-filed' })).toMatchObject(unnamed);
  expect(await resolve({ as: 'filed', requestId: 'R-1' })).toMatchObject(unnamed);
  expect(await resolve({ as: 'not-filed', attempt: 9 })).toMatchObject({ status: 409 });
  const early = { status: 409, body: { code: 'resolve_refused', detail: expect.stringMatching(/settle time/u) } };
  expect(await resolve({ as: 'not-filed', attempt })).toMatchObject(early);
  // The same answer after that is another statement; sent twice at once, it is one.
  const twice = [resolve({ as: 'not-filed', attempt }), resolve({ as: 'not-filed', attempt })];
  for (const answered of await Promise.all(twice)) expect(answered).toMatchObject(early);
  const said = () => stage.ledger.select('SELECT kind FROM decisions WHERE filing_id = $1', filed.body.filingId);
  expect(await said()).toEqual([]);
});

it('does nothing more for callers who have gone before or while they wait', async () => {
  let statements = 0;
  const pool = watchedPool(stage.ledger.pool, (statement, query) => {
    if (!statement.includes('audit_events')) statements += 1;
    return query();
  });
  const httpApi = await stage.another({ pool });
  const token = await stage.principal(['viewer']);
  const { hostname, port } = new URL(httpApi.url);
  const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nPrefer: wait=60\r\n\r\n`;
  try {
    stage.sandbox.addFault({ operation: 'push-irm', kind: 'drop-before-accept' });
    await file(await filing('API-GONE'));
    for (const path of ['/v1/filings/API-GONE', '/v1/events?limit=500&wait=60']) {
      for (const afterMs of [0, 1, 2, 4, 8, 200]) {
        const socket = connect(Number(port), hostname);
        await new Promise<void>((done) => socket.write(`GET ${path} ${head}`, () => done()));
        await sleep(afterMs);
        socket.destroy();
      }
    }
    const metrics = async () => (await fetch(`${httpApi.url}/metrics`)).text();
    const gone = async () =>
      [...(await metrics()).matchAll(/status="499"\} (\d+)/gu)].map(([, count]) => Number(count));
    await eventually(async () => (await gone()).reduce((sum, count) => sum + count, 0) === 12);
    // Nobody is looked for: what waits is looked at every second.
    await eventually(async () => {
      const before = statements;
      await sleep(1_200);
      return statements === before;
    }, 20_000);
  } finally {
    await httpApi.close();
  }
});

it('makes nobody wait who comes while it closes: the connection would be cut', async () => {
  const watch = createFilingWatch({ pool: stage.ledger.pool });
  watch.close();
  let answered = false;
  void watch.until('F0123456789ABCDE', 60_000, new AbortController().signal).then(() => (answered = true));
  await setImmediate();
  expect(answered).toBe(true);
});

const KEPT = join(__dirname, '..', '..', 'schemas', 'openapi.json');

it('keeps the description of the API as the routes have it; `npm run schemas` writes it', async () => {
  expect(readFileSync(KEPT, 'utf8')).toBe(await describeApi());
});
