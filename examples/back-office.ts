/** Onboards an exporter, files a message and a workbook, and follows them. Node.js 20 or newer, no packages. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const { EBRC = '', TOKEN = '', SANDBOX, REF = `TS-${Date.now()}` } = process.env;
const EXPORTER = 'accounts@kaveri.example';
const ENDS = ['certified', 'partly_certified', 'rejected', 'needs_correction', 'abandoned', 'awaiting_approval', 'needs_credentials'];

type Json = Record<string, unknown>;
interface Irm { irmNumber: string; irmAdCode: string; irmIfscCode: string; irmDt: string; irmFCC: string; irmPurposeCode: string; irmRemitAmtFCC: string; free: string }

/** Status and answer; a problem is an answer too. After 429 and 503 the same request is repeated. */
async function ask<T = Json>(method: string, path: string, body?: Json | FormData, url = EBRC): Promise<{ status: number; body: T; bytes: Buffer }> {
  for (;;) {
    const isForm = body instanceof FormData;
    const headers = { authorization: `Bearer ${TOKEN}`, prefer: 'wait=60', ...(body && !isForm && { 'content-type': 'application/json' }) };
    const answer = await fetch(url + path, { method, headers, body: isForm ? body : body && JSON.stringify(body) });
    if (answer.status === 429 || answer.status === 503) {
      await sleep(Number(answer.headers.get('retry-after') ?? 5) * 1_000);
      continue;
    }
    const bytes = Buffer.from(await answer.arrayBuffer());
    const isJson = (answer.headers.get('content-type') ?? '').includes('json');
    return { status: answer.status, body: (isJson ? JSON.parse(bytes.toString()) : {}) as T, bytes };
  }
}

/** The answer; a problem ends the program. */
function done<T extends { status: number; bytes: Buffer }>(answer: T): T {
  if (answer.status >= 400) throw new Error(answer.bytes.toString());
  return answer;
}

/** The state in which a filing ends, or needs somebody. */
async function ended(reference: string): Promise<string> {
  for (;;) {
    const { body } = done(await ask<{ state: string; asked: boolean }>('GET', `/v1/filings/${encodeURIComponent(reference)}`));
    if (body.asked || ENDS.includes(body.state)) return body.state;
  }
}

/** A mapping of a remittance to an invoice. Its fields of the IRM have the same names. */
function row({ irmIfscCode, irmAdCode, irmNumber, irmDt, irmFCC, irmPurposeCode, irmRemitAmtFCC }: Irm, serialNo: number, document: string) {
  return {
    ...{ serialNo, uploadType: 103, branchSlNo: 0, irmIfscCode, irmAdCode, irmNumber, irmDt, irmFCC, irmPurposeCode },
    ...{ irmRemitAmtFCC: Number(irmRemitAmtFCC), sbCumInvoiceNumber: document, sbCumInvoiceDate: '2026-05-15', portCode: 'INBLR4' },
    ...{ billNo: document, sbCumInvoiceFCC: irmFCC, sbCumInvoiceValueinFCC: 10, mappedIRMAmountFCC: 10, isVostro: 'N' },
    ...{ isGstAvail: 'N', gstinInvoiceNumber: null, gstinInvoiceDate: null },
  };
}

const message = (...rows: Json[]) => ({ recordResCount: rows.length, uploadType: '103', decalarationFlag: 'Y', ebrcBulkGenDtos: rows });

/** Whether a webhook is ours (Standard Webhooks). While a secret is rotated there are two signatures. */
function verified(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given = '' } = headers as Record<string, string>;
  if (!(Math.abs(Date.now() / 1_000 - Number(at)) < 300)) return false;
  const own = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64')).update(`${id}.${at}.${body}`).digest();
  return given.split(' ').some((each) => {
    const other = Buffer.from(each.slice('v1,'.length), 'base64');
    return other.length === own.length && timingSafeEqual(own, other);
  });
}

async function main(): Promise<void> {
  // 1. Onboard, with the password of the portal; it goes to a vault.
  const login = { username: 'kaveri.softworks', password: 'Kaveri@Soft9' };
  let { state } = done(await ask('POST', '/v1/exporters', { name: 'Kaveri Softworks', email: EXPORTER, iec: 'AAKCK7719P', ...login })).body;
  for (; state !== 'ready'; { state } = done(await ask('GET', `/v1/exporters/${EXPORTER}`)).body) console.log('exporter', await sleep(1_000, state));
  const { body: irms } = done(await ask<{ items: Irm[] }>('GET', `/v1/exporters/${EXPORTER}/irms?free=true`));
  const irm = irms.items.find(({ irmFCC, free }) => irmFCC === 'USD' && Number(free) > 1_000);
  if (!irm) throw new Error('no dollars are left');

  // 2. File two rows. The sandbox is told to reject one of them, once.
  const outcome = { match: { document: `${REF}-B` }, processingStatus: 'Errored', errorDetails: ['ERR36: Declaration flag'], times: 1 };
  if (SANDBOX) await ask('POST', '/outcomes', outcome, SANDBOX);
  const filing = { exporter: EXPORTER, reference: REF, message: message(row(irm, 1, `${REF}-A`), row(irm, 2, `${REF}-B`)) };
  const filed = done(await ask('POST', '/v1/filings', filing));
  console.log('filed', filed.status);
  console.log('ended', await ended(REF));
  const rows = (await ask<{ items: { eBRCNumber: string; errors: string[] }[] }>('GET', `/v1/filings/${String(filed.body['filingId'])}/rows`)).body.items;
  const number = rows[0]?.eBRCNumber;
  console.log('certified', number, 'rejected', rows[1]?.errors);
  let pdf = await ask('GET', `/v1/certificates/${number}/pdf`);
  for (; pdf.status !== 200; pdf = await ask('GET', `/v1/certificates/${number}/pdf`)) await sleep(1_000);
  await writeFile(`${REF}.pdf`, pdf.bytes);
  console.log('saved', `${REF}.pdf`);

  // 3. Correct the rejected row: it alone, with its serial number, under the same reference.
  const corrected = await ask('POST', `/v1/filings/${String(filed.body['filingId'])}/correct`, { message: message(row(irm, 2, `${REF}-B`)) });
  console.log('corrected', corrected.status, await ended(REF));

  // 4. What a reference and a mapping are protected from.
  const taken = await ask('POST', '/v1/filings', { ...filing, message: message(row(irm, 1, `${REF}-C`)) });
  const held = await ask('POST', '/v1/filings', { ...filing, reference: `${REF}-2` });
  console.log(taken.body['code'], held.body['code']);

  // 5. A workbook: a form with a file. A .csv with the names of the message's fields is one too.
  const cells = row(irm, 1, `${REF}-D`);
  const form = new FormData();
  for (const [name, value] of Object.entries({ exporter: EXPORTER, reference: `${REF}-W`, declaration: 'Y' })) form.append(name, value);
  form.append('file', new Blob([[Object.keys(cells).join(), Object.values(cells).join()].join('\r\n')]), 'july.csv');
  console.log('workbook', done(await ask('POST', '/v1/filings', form)).status, await ended(`${REF}-W`));

  // 6. Be told. The workers have to be allowed to reach this machine: EBRC_WEBHOOK_HOSTS=127.0.0.1
  let secret = '';
  const server = createServer((request, response) => void text(request).then((body) => response.writeHead(verified(secret, request.headers, body) ? 204 : 401).end()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { body: hook } = done(await ask('POST', '/v1/webhooks', { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }));
  secret = String(hook['secret']);
  console.log('webhook', (await ask('POST', `/v1/webhooks/${String(hook['webhookId'])}/test`, {})).body['state']);
  await ask('DELETE', `/v1/webhooks/${String(hook['webhookId'])}`);
  server.close();
}

void main();
