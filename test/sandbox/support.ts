import { createSandbox, type Sandbox } from '../../sandbox/sandbox';
import type { SandboxOptions } from '../../sandbox/options';
import { mapping } from '../../dev/sample-mapping';
import type { Seed } from '../../sandbox/authority/seed';

export const HOUR = 3_600_000;
/** 1 July 2026, 10:00 in Asia/Kolkata. */
const START = Date.UTC(2026, 6, 1, 4, 30);

const ACCOUNT = { username: 'acme', password: 'Right#1', iec: 'AAGCM4521K' };

/** A world of one account. */
export const seedOf = (account: Partial<NonNullable<Seed['accounts']>[number]>): Seed => ({
  accounts: [{ ...ACCOUNT, ...account }],
});

export function seedWith(extra: Partial<Seed> = {}): Seed {
  return {
    accounts: [
      {
        ...ACCOUNT,
        panNumber: 'AAGCM4521K',
        irms: [
          irm({ irmNumber: 'IRM1' }),
          irm({ irmNumber: 'IRM2', remittanceFCC: 'EUR' }),
          irm({ irmNumber: 'IRM2', remittanceAdCode: '6390104', ifscCode: 'ICIC0000104' }),
        ],
      },
      { username: 'other', password: 'Other#1', iec: 'BBGCM4521K', irms: [] },
    ],
    ...extra,
  };
}

export function irm(over: Record<string, unknown> = {}) {
  return {
    irmNumber: 'IRM1',
    irmIssueDate: '12052026',
    ifscCode: 'HDFC0000060',
    remittanceAdCode: '0510060',
    remittanceFCC: 'USD',
    remittanceFCCAmount: 10_000,
    purposeOfRemittance: 'P0103',
    ...over,
  };
}

/** Parsed JSON, whose shape each test asserts. */
type Json = ReturnType<typeof JSON.parse>;

export interface Answered {
  status: number;
  body: Json;
  headers: Headers;
  /** `data` of the envelope. */
  data: Json;
}

const started: Sandbox[] = [];
afterAll(() => Promise.all(started.map((sandbox) => sandbox.close())));

/** A sandbox with a clock that the test moves, and a client that presents a key; closed behind its test file. */
export async function startSandbox(options: SandboxOptions = {}) {
  let now = START;
  const sandbox = await createSandbox({
    clock: () => now,
    rateLimits: options.rateWindowMs !== undefined,
    seed: seedWith(),
    ...options,
  });
  started.push(sandbox);
  const api = client(sandbox);
  return {
    sandbox,
    api,
    prod: client(sandbox, 'prod_sandbox_key'),
    with: (key: string | null) => client(sandbox, key),
    advance: (ms: number) => {
      now += ms;
    },
    now: () => now,
    control: (method: string, path: string, body?: unknown) => call(`${sandbox.controlUrl}${path}`, method, null, body),
  };
}
export type Harness = Awaited<ReturnType<typeof startSandbox>>;

function client(sandbox: Sandbox, key: string | null = 'dev_sandbox_key') {
  const send = (method: string) => (path: string, body?: unknown) => call(sandbox.url + path, method, key, body);
  return { get: send('GET'), post: send('POST'), patch: send('PATCH') };
}

async function call(url: string, method: string, key: string | null, body?: unknown): Promise<Answered> {
  const multipart = body instanceof FormData;
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === null ? {} : { 'x-api-key': key }),
      ...(body === undefined || multipart ? {} : { 'content-type': 'application/json' }),
    },
    body: multipart ? body : body === undefined ? undefined : JSON.stringify(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  const parsed = isJson ? JSON.parse(bytes.toString('utf8')) : bytes;
  return { status: response.status, body: parsed, headers: response.headers, data: isJson ? parsed.data : undefined };
}

let counter = 0;
/** A created client. */
export async function createClient({ api }: Pick<Harness, 'api'>, over: Record<string, unknown> = {}): Promise<string> {
  const created = await api.post('/platform-customers', {
    name: 'Acme Exports',
    email: `acme${counter++}@example.com`,
    type: 'customer',
    iec: ACCOUNT.iec,
    ...over,
  });
  if (created.status !== 201) throw new Error(JSON.stringify(created.body));
  return created.data.id;
}

/** A client that is linked, activated and refreshed. */
export async function readyClient(harness: Harness): Promise<string> {
  const id = await createClient(harness);
  await link(harness, id);
  harness.advance(24 * HOUR);
  await harness.api.post('/irm/refresh', { platformCustomerId: id });
  return id;
}

export function link({ api }: Pick<Harness, 'api'>, id: string, over: Record<string, unknown> = {}) {
  return api.post(`/platform-customers/${id}/check-dgft-credentials`, {
    dgftUsername: ACCOUNT.username,
    dgftPassword: ACCOUNT.password,
    ...over,
  });
}

/** A mapping of the account's IRM1. */
export function item(over: Record<string, unknown> = {}) {
  return {
    ...mapping(),
    irmIfscCode: 'HDFC0000060',
    irmAdCode: '0510060',
    irmNumber: 'IRM1',
    irmDt: '12052026',
    irmPurposeCode: 'P0103',
    sbCumInvoiceDate: '01062026',
    billNo: 'INV/26/001',
    sbCumInvoiceValueinFCC: 4_000,
    mappedIRMAmountFCC: 4_000,
    ...over,
  };
}

/** Asks for the certificates of July and August, by default. */
export const fetchDetails = ({ api }: Pick<Harness, 'api'>, platformCustomerId: string, over: object = {}) =>
  api.post('/genebrc/fetch-details', {
    platformCustomerId,
    iecCode: ACCOUNT.iec,
    eBRCIssueFromDt: '01072026',
    eBRCIssueToDt: '31082026',
    ...over,
  });

export function message(platformCustomerId: string, items: unknown[] = [item()], over: Record<string, unknown> = {}) {
  return {
    platformCustomerId,
    recordResCount: items.length,
    uploadType: '101',
    decalarationFlag: 'Y',
    ebrcBulkGenDtos: items,
    ...over,
  };
}
