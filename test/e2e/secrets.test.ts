/**
 * A filing's whole life with rejected, expired and renewed passwords, traced; afterwards no secret may be found
 * anywhere, and nothing about an exporter in traces and logs.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { dataConverterOf, createPayloadCodec } from '../../src/encryption/payload-codec';
import type { ExporterProgress } from '../../src/domain/contracts';
import type { FilingView } from '../../src/domain/filing/view';
import { createSandbox } from '../../sandbox/sandbox';
import { subKeys } from '../../src/encryption/keys';
import { freePort } from '../../dev/free-port';
import { demoMessage, type DemoIrm } from '../../dev/demo-message';
import type { CommandResult } from '../support/command-line';
import { everyRow } from '../support/postgres';
import { expressionsOf, metricsIn } from '../support/ops-files';
import { eventually } from '../support/processes';
import { contentsOfZip, unsummed } from '../support/zips';
import { openProgramStage, type ProgramStage } from './program-stage';
import { namesUpward, startTraceReceiver, type ReceivedSpan, type TraceReceiver } from '../support/trace-receiver';

const EXPORTER = 'accounts@kaveri.example';
const API_KEY = 'dev_Gnu3Vq8LkeySecret';
const ENCRYPTION_KEY = Buffer.from('secrets-test-encryption-key-32b!').toString('base64');
const PAYLOAD_KEYS = subKeys([{ id: 'test', key: Buffer.from(ENCRYPTION_KEY, 'base64') }], 'payloads');
const codec = createPayloadCodec({ keys: PAYLOAD_KEYS });
const PASSWORDS = { wrong: 'Wrong"Pass\\wörd-1', right: 'Kaveri@Soft9', renewed: 'Renewed#Pass/99' };

let stage: ProgramStage;
let folder: string;
let traces: TraceReceiver;
let metricsPort: number;
/** Everything that the commands printed. */
const printed: string[] = [];

/** In this process, or as the built program where `built` names it. */
async function run(args: string[], input?: string, built?: string): Promise<CommandResult> {
  const result = await stage.run(args, { program: built, input });
  printed.push(result.stdout, result.stderr);
  return result;
}

const withPassword = (password: string) =>
  run(['credentials', EXPORTER, '--username', 'kaveri.softworks', '--password-stdin', '--wait', '--json'], password);

beforeAll(async () => {
  metricsPort = await freePort();
  traces = await startTraceReceiver();
  const expired = { operation: 'status', kind: 'password-expired', newPassword: PASSWORDS.renewed, times: 1 } as const;
  const sandbox = await createSandbox({
    ...{ activationDelayMs: 0, ackDelayMs: 2_000, rateWindowMs: 2_000 },
    seed: { keys: [{ key: API_KEY }], faults: [expired] },
  });
  const env = {
    EBRC_METRICS: `127.0.0.1:${metricsPort}`,
    EBRC_API_KEY: API_KEY,
    // Nothing that opens a password: `onboard` and `credentials` seal them.
    EBRC_PAYLOAD_KEY: `test:${PAYLOAD_KEYS[0].key.toString('base64')}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    // As much as the programs ever say.
    LOG_LEVEL: 'trace',
  };
  stage = await openProgramStage(sandbox, env, { EBRC_ENCRYPTION_KEY: `test:${ENCRYPTION_KEY}` });
  folder = stage.folder;
}, 300_000);

afterAll(async () => {
  await stage?.close();
  await traces?.close();
}, 200_000);

it('handles a rejected, an expired and a renewed password', async () => {
  const onboarding = await run(
    [
      ...['onboard', '--name', 'Kaveri Softworks', '--email', EXPORTER, '--iec', 'AAKCK7719P'],
      ...['--username', 'kaveri.softworks', '--password-stdin', '--wait', '--json'],
    ],
    PASSWORDS.wrong,
    stage.program,
  );
  expect(onboarding.json<ExporterProgress>().state).toBe('needs_credentials');
  expect((await withPassword(PASSWORDS.right)).json<ExporterProgress>().state).toBe('ready');

  const irms = (await run(['irms', EXPORTER, '--json'])).json<DemoIrm[]>();
  const file = await stage.file('remittances.json', demoMessage(irms));
  const filing = await run(['file', file, '--exporter', EXPORTER, '--reference', 'SECRETS-1', '--json']);
  expect(filing.code).toBe(0);
  const shown = async () => (await run(['show', 'SECRETS-1', '--json'])).json<FilingView>();
  await eventually(async () => (await shown()).state === 'needs_credentials', 60_000);

  expect((await withPassword(PASSWORDS.wrong)).json<ExporterProgress>().state).toBe('needs_credentials');
  expect((await withPassword(PASSWORDS.renewed)).json<ExporterProgress>().state).toBe('ready');
  await eventually(async () => (await shown()).state === 'certified', 60_000);
}, 250_000);

it('shows in its metrics what happened, and names nobody', async () => {
  const scraped = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const exported = new Set([...scraped.matchAll(/^(\w+)[{ ]/gm)].map(([, name]) => name));
  // Everything that the alert rules and the dashboard are about, from Temporal's SDK too.
  const named = ['ops/alerts.yaml', 'ops/grafana-dashboard.json'].flatMap((file) => metricsIn(expressionsOf(file)));
  // The SDK tells of failed tasks once there was one.
  const seldom = 'temporal_workflow_task_execution_failed_total';
  expect(named.filter((name) => name !== seldom && !exported.has(name))).toEqual([]);
  expect(scraped).toMatch(/^ebrc_api_calls_total\{kind="ok",operation="pushIrm",mode="test"[^}]*\} 1$/m);
  expect(scraped).toMatch(/^ebrc_poll_lag_seconds_count\{[^}]*\} [1-9]/m);
  expect(secretsIn(scraped)).toEqual([]);
  for (const personal of ['Kaveri', EXPORTER, 'AAKCK7719P', 'SECRETS-1']) expect(scraped).not.toContain(personal);
});

/** What is about somebody: names, addresses, and what was filed. */
async function personalWords(): Promise<string[]> {
  const message = JSON.parse(await readFile(join(folder, 'remittances.json'), 'utf8')) as {
    ebrcBulkGenDtos: Record<'irmNumber' | 'sbCumInvoiceNumber' | 'billNo', string>[];
  };
  const filed = message.ebrcBulkGenDtos.flatMap((row) => [row.irmNumber, row.sbCumInvoiceNumber, row.billNo]);
  return ['Kaveri', EXPORTER, 'AAKCK7719P', 'kaveri.softworks', ...filed];
}

const wordsIn = (text: string, words: string[]) => words.filter((word) => text.includes(word));

describe('traces', () => {
  let trace: ReceivedSpan[];

  beforeAll(async () => {
    // The span of a workflow is sent when it has ended.
    const filed = () => traces.spans().find(({ name }) => name === 'RunWorkflow:fileRemittances');
    await eventually(() => filed() !== undefined);
    trace = traces.spans().filter(({ traceId }) => traceId === filed()?.traceId);
  });

  const upward = (name: string) => {
    const span = trace.find((each) => each.name === name);
    return span ? namesUpward(trace, span) : [];
  };

  it('lead from the command through workflow and activity to the call and the statement', () => {
    expect(upward('POST /genebrc/push-irm')).toEqual([
      'POST /genebrc/push-irm',
      'RunActivity:submitPush',
      'StartActivity:submitPush',
      'RunWorkflow:fileRemittances',
      'StartWorkflow:fileRemittances',
    ]);
    expect(upward('UPDATE attempts')).toEqual(expect.arrayContaining(['RunActivity:submitPush']));
    expect([...new Set(trace.map(({ service }) => service))].sort()).toEqual(['ebrc', 'ebrc-worker']);
  });

  it('name the filing and exporter of a step, and the result of its call', () => {
    const step = trace.find(({ name }) => name === 'RunActivity:submitPush');
    expect(step?.attributes).toMatchObject({
      'ebrc.filing_id': expect.stringMatching(/./) as string,
      'ebrc.exporter_id': expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    const call = trace.find(({ name }) => name === 'POST /genebrc/push-irm');
    expect(call?.attributes).toMatchObject({ 'ebrc.operation': 'pushIrm', 'ebrc.rate_class': 'push' });
    const expired = trace.filter(({ name }) => name === 'POST /genebrc/status').map(({ attributes }) => attributes);
    expect(expired).toContainEqual(expect.objectContaining({ 'error.type': 'credentials_invalid' }) as object);
  });

  it('hold no secret and nothing about an exporter', async () => {
    expect(secretsIn(traces.raw())).toEqual([]);
    expect(wordsIn(traces.raw(), await personalWords())).toEqual([]);
  });

  it('are no part of a history: a worker without them takes the filing over', async () => {
    const client = new Client({ connection: await stage.temporal.connect() });
    const history = await client.workflow.getHandle('file/test/SECRETS-1').fetchHistory();
    const replayed = Worker.runReplayHistory(
      {
        workflowBundle: { codePath: join(stage.dist, 'workflow-bundle-encrypted.js') },
        dataConverter: dataConverterOf(PAYLOAD_KEYS),
      },
      history,
    );
    await expect(replayed).resolves.toBeUndefined();
  });
});

it('writes logs that name their filing and trace, and nothing about an exporter', async () => {
  const log = await readFile(join(folder, 'worker.log'), 'utf8');
  const lines = log.split('\n').filter((line) => line.startsWith('{'));
  const facts = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const recorded = facts.find(({ msg }) => msg === 'filing recorded');
  const { traceId } = traces.spans().find(({ name }) => name === 'RunWorkflow:fileRemittances') ?? {};
  const about = { workflowId: 'file/test/SECRETS-1', filingId: expect.stringMatching(/./) as string, traceId };
  expect(recorded).toMatchObject(about);
  // Ours are all named; what Temporal's SDK says of payloads and tasks is dropped.
  const ours = facts.filter(({ sdkComponent }) => sdkComponent === undefined);
  expect(ours.filter(({ droppedFields }) => droppedFields !== undefined)).toEqual([]);
  expect(wordsIn(log, await personalWords())).toEqual([]);
});

it('leaves no password and no key in any history, not even in what its payloads hold', async () => {
  const histories = await readHistories(codec);
  expect(histories.length).toBeGreaterThanOrEqual(3);
  // What a payload holds is read: the reference that stands in the place of the password is found.
  expect(histories.join('\n')).toContain('credentialsRef');
  expect(secretsIn(histories.join('\n'))).toEqual([]);
});

it('leaves nothing about an exporter in clear on the Temporal server', async () => {
  const clear = (await readHistories(null)).join('\n');
  const decoded = (await readHistories(codec)).join('\n');
  expect(clear).toContain('binary/encrypted');
  expect(wordsIn(clear, await personalWords())).toEqual([]);
  // The same look finds them once the payloads are decoded.
  expect(decoded).toContain('Kaveri');
  expect(decoded).toContain(EXPORTER);
});

it('leaves no password and no key in the ledger', async () => {
  const dump = await everyRow(stage.database.pool);
  expect(dump).toContain(EXPORTER);
  expect(dump).toContain('vault_secrets');
  expect(secretsIn(dump)).toEqual([]);
});

it('leaves no password and no key in the evidence of a filing', async () => {
  const path = join(folder, 'evidence.zip');
  const written = await run(['evidence', 'SECRETS-1', '-o', path, '--json']);
  expect(written.json()).toMatchObject({ path, removed: [], differs: [] });
  const files = await contentsOfZip(await readFile(path));
  expect(unsummed(files)).toEqual([]);
  const text = Buffer.concat([...files.values()]).toString('latin1');
  expect(text).toContain(EXPORTER);
  expect(secretsIn(text)).toEqual([]);
});

it('leaves no password and no key in logs, in what is printed, and in files', async () => {
  const log = await readFile(join(folder, 'worker.log'), 'utf8');
  expect(log).toContain('worker started');
  expect(secretsIn(log)).toEqual([]);
  expect(secretsIn(printed.join('\n'))).toEqual([]);
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const contents = files.filter((each) => each.isFile()).map((each) => readFile(join(each.parentPath, each.name)));
  expect(contents.length).toBeGreaterThan(3);
  expect(secretsIn(Buffer.concat(await Promise.all(contents)).toString('latin1'))).toEqual([]);
});

/** Names of the secrets that a text holds, as they are or in a form that is as good. */
function secretsIn(text: string): string[] {
  const secrets = { ...PASSWORDS, apiKey: API_KEY, encryptionKey: ENCRYPTION_KEY };
  return Object.entries(secrets).flatMap(([name, secret]) => {
    const bytes = Buffer.from(secret);
    const forms = [
      secret,
      bytes.toString('latin1'),
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      bytes.toString('base64').replace(/=+$/, ''),
      bytes.toString('hex'),
    ];
    return forms.some((form) => text.includes(form)) ? [name] : [];
  });
}

/** Every history of the namespace as text, with its memo and what its payloads hold; decoded where a codec is given. */
async function readHistories(decoder: PayloadCodec | null): Promise<string[]> {
  // A list reads memos, which are encrypted too; histories come as they are.
  const client = new Client({ connection: await stage.temporal.connect(), dataConverter: { payloadCodecs: [codec] } });
  const histories: string[] = [];
  for await (const { workflowId, runId } of client.workflow.list()) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const { raw } = await handle.describe();
    histories.push(`${await textOf(await handle.fetchHistory(), decoder)}\n${await textOf(raw, decoder)}`);
  }
  return histories;
}

/** All texts and bytes of a value, however deep. */
async function textOf(value: unknown, decoder: PayloadCodec | null): Promise<string> {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value !== 'object' || value === null) return String(value);
  const [payload] =
    decoder && 'metadata' in value && 'data' in value ? await decoder.decode([value as Payload]) : [value];
  const parts = Object.entries(payload ?? {}).map(async ([name, part]) => `${name} ${await textOf(part, decoder)}`);
  return (await Promise.all(parts)).join('\n');
}
