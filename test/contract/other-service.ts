/**
 * A second, small reading of the filing service, which decides otherwise than the sandbox wherever the specification is
 * silent: what works against both depends on neither. It shares no code with the worker or the sandbox.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { itemsOfWorkbook, templateOf } from './other-workbook';
import { pdfWith } from '../support/scripted-pdf';

export const OTHER_KEY = 'dev_other_key';

export interface OtherAccount {
  username: string;
  password: string;
  iec: string;
}

export interface OtherService {
  url: string;
  accounts: readonly [OtherAccount, OtherAccount];
  /** The answer of the next filing with this document is lost: after it was accepted, or before. */
  loseAnswer(document: string, accepted: boolean): void;
  /** The authority errors the next row with this document. */
  errorRow(document: string): void;
  /** The next look for certificates fails with 500. */
  failDetails(): void;
  /** How many filings were accepted. */
  accepted(): number;
  /** Documents that were filed again while an earlier filing of the same row was pending or certified. */
  filedTwice(): string[];
  close(): Promise<void>;
}

type Json = Record<string, unknown>;

interface Customer {
  id: string;
  name: string;
  email: string;
  companyName: string | null;
  iec: string | null;
  address: string | null;
  account: OtherAccount | null;
}

interface Row {
  serialNo: number;
  irmNumber: string;
  irmDt: string;
  document: string;
  documentDate: string;
  bill: string;
  currency: string;
  amount: number;
  /** What makes it the same row when it comes again. */
  key: string;
  outcome?: { number: string } | { errors: string[] };
}

interface Filing {
  id: string;
  customerId: string;
  rows: Row[];
  at: number;
  looks: number;
}

interface Context {
  body: Buffer;
  json: Json;
  query: URLSearchParams;
  part: string;
}

class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly body: Json,
  ) {
    super(String(body.message));
  }
}

/** Not an answer: the connection is taken away. */
class Lost extends Error {}

const PROCESSING_MS = 1_500;
const ACCOUNTS: readonly [OtherAccount, OtherAccount] = [
  { username: 'weaver.one', password: 'Loom&Shuttle1', iec: 'AAOTH1234E' },
  { username: 'weaver.two', password: 'Warp+Weft22', iec: 'BBOTH5678F' },
];

export async function startOtherService(): Promise<OtherService> {
  const customers = new Map<string, Customer>();
  const filings: Filing[] = [];
  const used = new Map<string, number>();
  const lose = new Map<string, boolean>();
  const errored = new Set<string>();
  const twice: string[] = [];
  let minted = 0;
  let failing = false;

  const irmsOf = ({ id, account }: Customer) => {
    settle();
    return [1, 2].map((index) => {
      const irmNumber = `OTH/${account?.username.slice(-3).toUpperCase()}/${index}`;
      const spent = used.get(irmNumber) ?? 0;
      return {
        id: randomUUID().toUpperCase(),
        irmNumber,
        irmIssueDate: '2026-05-12',
        remittanceDate: '2026-05-11T00:00:00.000Z',
        irmStatus: 'FRESH',
        ifscCode: 'OTHR0000123',
        remittanceAdCode: '0099001',
        remittanceFCC: 'USD',
        remittanceFCCAmount: '500000.00',
        ormAmountFCC: '0.00',
        irmAvailableAmt: (500_000 - spent).toFixed(2),
        irmUtilizedAmt: spent.toFixed(2),
        iecCode: account?.iec,
        panNumber: null,
        remitterName: 'Overseas Buyer LLC',
        remitterCountry: 'US',
        purposeOfRemittance: 'P0802',
        subjectType: 'CLIENT',
        platformCustomerId: id,
        _links: { self: `/irm/${index}` },
      };
    });
  };

  const customerOf = (id: unknown): Customer => {
    const found = customers.get(String(id).toUpperCase());
    if (!found) throw new Refusal(404, { code: 'NOT_FOUND', message: 'Customer not found' });
    return found;
  };
  const active = (id: unknown): Customer => {
    const found = customerOf(id);
    if (found.account) return found;
    const causes = ['no credentials'];
    const message = 'No credentials on file';
    throw new Refusal(422, {
      code: 422,
      errorCode: 'DGFT_CREDENTIALS_MISSING',
      requiresPasswordUpdate: true,
      message,
      causes,
    });
  };
  const clientObject = ({ account, ...rest }: Customer) => ({
    ...rest,
    type: 'customer',
    platformId: 'OTHER-PLATFORM',
    isActive: account !== null,
    hasDgftCredentials: account !== null,
    ...(account && { dgftApiStatus: { state: 'ready', sharedCredentialsLikely: false, checkedBy: 'portal' } }),
    createdAt: new Date().toISOString(),
    updatedAt: new Date().toISOString(),
    tags: [],
  });

  function accept(customer: Customer, rows: Row[]): Filing {
    const lost = rows.map(({ document }) => document).find((document) => lose.has(document));
    if (lost !== undefined && lose.get(lost) === false) {
      lose.delete(lost);
      throw new Lost();
    }
    const live = filings.flatMap((filing) => filing.rows).filter(({ outcome }) => !outcome || 'number' in outcome);
    twice.push(...rows.filter(({ key }) => live.some((row) => row.key === key)).map(({ document }) => document));
    const id = `REQ-${randomUUID().slice(0, 8).toUpperCase()}`;
    const filing: Filing = { id, customerId: customer.id, rows, at: Date.now(), looks: 0 };
    filings.push(filing);
    if (lost === undefined) return filing;
    lose.delete(lost);
    throw new Lost();
  }

  function settle(): void {
    for (const { rows, at } of filings) {
      if (Date.now() - at < PROCESSING_MS) continue;
      for (const row of rows.filter(({ outcome }) => !outcome)) {
        if (errored.delete(row.document)) {
          row.outcome = { errors: ['Document is not known to the customs'] };
          continue;
        }
        minted += 1;
        used.set(row.irmNumber, (used.get(row.irmNumber) ?? 0) + row.amount);
        row.outcome = { number: `OTHR/26-27 ${String(minted).padStart(6, '0')}` };
      }
    }
  }

  const acknowledgement = ({ id, rows }: Filing) => ({
    dgftAckId: `ACK/${id}`,
    requestId: id,
    ackStatus: 'VALIDATED',
    recordResCount: String(rows.length),
    errorDetails: null,
    notes: ['IRM was last refreshed today'],
    traceId: 7,
  });

  const route = (method: string, path: RegExp, handle: (context: Context) => unknown) => ({ method, path, handle });
  const routes = [
    route('POST', /^\/platform-customers$/u, ({ json }) => {
      const allowed = ['name', 'email', 'type', 'companyName', 'iec', 'address', 'dgftUsername', 'dgftPassword'];
      const stray = Object.keys(json).find((name) => !allowed.includes(name));
      if (stray) throw invalid([`property ${stray} should not exist`]);
      const { name, email, companyName = null, iec = null, address = null } = json as Record<string, string>;
      if ([...customers.values()].some((each) => each.email === email)) {
        throw new Refusal(400, { code: 400, message: 'User with email already exists' });
      }
      const id = randomUUID().toUpperCase();
      const made = { id, name: name ?? '', email: email ?? '', companyName, iec, address, account: null };
      customers.set(id, made);
      return { ...clientObject(made), mode: 'test' };
    }),
    route('GET', /^\/platform-customers$/u, () => [...customers.values()].map(listed)),
    route('GET', /^\/platform-customers\/([^/]+)$/u, ({ part }) => clientObject(customerOf(part))),
    route('PATCH', /^\/platform-customers\/([^/]+)$/u, ({ part, json }) => {
      const stray = Object.keys(json).find((name) => !['name', 'companyName', 'address'].includes(name));
      if (stray) throw invalid([`property ${stray} should not exist`]);
      return { ...clientObject(Object.assign(customerOf(part), json)), mode: 'test' };
    }),
    route('POST', /^\/platform-customers\/([^/]+)\/check-dgft-credentials$/u, ({ part, json }) => {
      const customer = customerOf(part);
      const account = ACCOUNTS.find(({ username }) => username === json.dgftUsername);
      if (account?.password !== json.dgftPassword) {
        throw new Refusal(400, { code: 'BAD_LOGIN', message: 'Invalid DGFT credentials' });
      }
      customer.account = account ?? null;
      return { ...clientObject(customer), mode: 'test' };
    }),
    route('GET', /^\/irm$/u, ({ query }) => {
      const all = irmsOf(active(query.get('platformCustomerId')));
      const [page, limit] = [Number(query.get('page') ?? 1), Number(query.get('limit') ?? 10)];
      const meta = { total: String(all.length), page, limit, totalPages: Math.ceil(all.length / limit) };
      return { data: all.slice((page - 1) * limit, page * limit), meta };
    }),
    route(
      'POST',
      /^\/irm\/refresh$/u,
      ({ json, query }) => void active(json.platformCustomerId ?? query.get('platformCustomerId')),
    ),
    route('POST', /^\/genebrc\/push-irm$/u, ({ json }) => {
      const items = json.ebrcBulkGenDtos as Json[];
      if (json.recordResCount !== items.length) throw invalid(['recordResCount: wrong']);
      return acknowledgement(accept(active(json.platformCustomerId), items.map(rowOfItem)));
    }),
    route('POST', /^\/genebrc\/bulk-upload$/u, async ({ body, query }) => {
      const customer = active(query.get('platformCustomerId'));
      const items = await itemsOfWorkbook(body);
      const irms = items.map(({ serialNo, ...item }) => ({ ...item, serialNo: Number(serialNo) }));
      const filing = accept(customer, items.map(rowOfItem));
      const irmNumbers = [...new Set(filing.rows.map(({ irmNumber }) => irmNumber))];
      return { ...acknowledgement(filing), parsedRowCount: items.length, irmNumbers, irms };
    }),
    route('POST', /^\/genebrc\/status$/u, ({ json }) => {
      const filing = filings.find(({ id }) => id === json.requestId);
      if (!filing) throw new Refusal(404, { code: 'NO_REQUEST', message: 'No such request' });
      settle();
      filing.looks += 1;
      // First as if it did not exist, then without anything but a word of its own.
      if (filing.looks === 1) throw new Refusal(404, { code: 'NO_REQUEST', message: 'No such request' });
      if (filing.rows.some(({ outcome }) => !outcome)) return { processingStatus: 'Pending' };
      return statusOf(filing, customerOf(filing.customerId));
    }),
    route('POST', /^\/genebrc\/fetch-details$/u, ({ json }) => {
      const customer = active(json.platformCustomerId);
      if (failing) {
        failing = false;
        throw new Refusal(500, { code: 500, message: 'The store of certificates is away' });
      }
      settle();
      return filings
        .filter(({ customerId }) => customerId === customer.id)
        .flatMap(({ rows }) => rows)
        .filter(({ document }) => json.sbCumInvoiceNumber === undefined || document === json.sbCumInvoiceNumber)
        .flatMap((row) =>
          row.outcome && 'number' in row.outcome ? [detailOf(row, row.outcome.number, customer)] : [],
        );
    }),
  ];

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://other');
    const path = url.pathname.replace(/^\/api\/v1/u, '');
    const body = await bodyOf(incoming);
    if (incoming.headers['x-api-key'] !== OTHER_KEY) throw new Refusal(401, { code: 401, message: 'Invalid API key' });
    const pdf = /^\/genebrc\/download-pdf\/(.+)$/u.exec(path)?.[1];
    if (pdf !== undefined) return sendPdf(outgoing, decodeURIComponent(pdf));
    if (path === '/irm/bulk-template') {
      const content = await templateOf(irmsOf(active(url.searchParams.get('platformCustomerId'))));
      return sendFile(outgoing, 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', [content]);
    }
    for (const { method, path: pattern, handle } of routes) {
      const found = pattern.exec(path);
      if (!found || method !== incoming.method) continue;
      const isJson = String(incoming.headers['content-type']).includes('json') && body.length > 0;
      const json = isJson ? (JSON.parse(body.toString()) as Json) : {};
      const data = await handle({ body, json, query: url.searchParams, part: decodeURIComponent(found[1] ?? '') });
      if (data === undefined) return void outgoing.writeHead(204).end();
      const created = path.startsWith('/platform-customers') && method === 'POST';
      return send(outgoing, created ? 201 : 200, {
        success: true,
        data,
        statusCode: created ? 201 : 200,
        timestamp: new Date().toISOString(),
        node: 'other-1',
      });
    }
    throw new Refusal(404, { code: 404, message: `Cannot ${incoming.method} ${path}` });
  }

  function sendPdf(outgoing: ServerResponse, number: string): void {
    const known = filings.some(({ rows }) =>
      rows.some(({ outcome }) => outcome && 'number' in outcome && outcome.number === number),
    );
    if (!known) throw new Refusal(404, { code: 404, errorCode: 'EBRC_NOT_FOUND', message: 'Not there yet' });
    const file = pdfWith(` certificate ${number}`).toString();
    sendFile(outgoing, 'application/pdf', [file.slice(0, 20), file.slice(20, 60), file.slice(60)]);
  }

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => {
      if (error instanceof Lost) incoming.socket.destroy();
      else if (error instanceof Refusal) send(outgoing, error.status, error.body);
      else send(outgoing, 500, { code: 500, message: String(error) });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    accounts: ACCOUNTS,
    loseAnswer: (document, accepted) => void lose.set(document, accepted),
    errorRow: (document) => void errored.add(document),
    failDetails: () => void (failing = true),
    accepted: () => filings.length,
    filedTwice: () => twice,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function invalid(errors: string[]): Refusal {
  return new Refusal(400, { code: 400, message: 'Validation failed', errors });
}

/** As the list has it: without mode and dgftApiStatus. */
function listed({ account, ...rest }: Customer): Json {
  return { ...rest, isActive: account !== null, hasDgftCredentials: account !== null, type: 'customer' };
}

function rowOfItem(item: Json): Row {
  const text = (name: string) => String((item[name] as string | number | null | undefined) ?? '');
  const row = {
    serialNo: Number(item.serialNo),
    irmNumber: text('irmNumber'),
    irmDt: text('irmDt'),
    document: text('sbCumInvoiceNumber'),
    documentDate: text('sbCumInvoiceDate'),
    bill: text('billNo'),
    currency: text('sbCumInvoiceFCC'),
    amount: Number(item.mappedIRMAmountFCC),
  };
  const { serialNo: _serialNo, bill: _bill, ...same } = row;
  return { ...row, key: JSON.stringify(same) };
}

function statusOf({ id, rows }: Filing, { account }: Customer): Json {
  const failed = rows.filter(({ outcome }) => outcome && 'errors' in outcome).length;
  return {
    dgftAckId: `ACK/${id}`,
    requestId: id,
    recordResCount: String(rows.length),
    recordProCount: String(rows.length - failed),
    recordFailCount: String(failed),
    processingStatus: failed > 0 ? 'Errored' : 'Processed',
    ebrcBulkGenStatusLst: [...rows].reverse().map((row) => ({
      serialNo: String(row.serialNo),
      irmNumber: row.irmNumber,
      irmDt: row.irmDt,
      iecNumber: account?.iec,
      sbCumInvoiceNumber: row.document,
      sbCumInvoiceDate: row.documentDate,
      eBRCNumber: row.outcome && 'number' in row.outcome ? row.outcome.number : '',
      billNo: row.bill,
      eBRCDt: row.outcome && 'number' in row.outcome ? todayInIndia() : null,
      fobFCC: row.amount.toFixed(2),
      fcc: row.currency,
      processingStatus: row.outcome && 'number' in row.outcome ? 'Processed' : 'Errored',
      errorDetails:
        row.outcome && 'errors' in row.outcome
          ? row.outcome.errors.map((message) => ({ errorCode: 'E-77', errorMessage: message }))
          : [],
      officer: 'n/a',
    })),
  };
}

function detailOf(row: Row, number: string, { account }: Customer): Json {
  return {
    iec: account?.iec,
    eBRCNumber: number,
    eBRCDate: todayInIndia(),
    eBRCStatus: 'ISSUED',
    billNo: row.bill,
    sbCumInvoiceNumber: row.document,
    sbCumInvoiceDate: row.documentDate,
    realisedValueFCC: row.amount.toFixed(2),
    currencyCode: row.currency,
    realizationDt: '11052026',
    brcUtilStatus: 'Unutilised',
    isGstAvailed: 'N',
    gstin: null,
  };
}

function todayInIndia(): string {
  const [year, month, day] = new Intl.DateTimeFormat('en-CA', { timeZone: 'Asia/Kolkata' }).format().split('-');
  return `${day}${month}${year}`;
}

function send(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  outgoing.end(JSON.stringify(body));
}

/** In pieces and without a length. */
function sendFile(outgoing: ServerResponse, type: string, pieces: (string | Buffer)[]): void {
  outgoing.writeHead(200, { 'content-type': type, 'content-disposition': 'attachment; filename=file' });
  for (const piece of pieces) outgoing.write(piece);
  outgoing.end();
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
