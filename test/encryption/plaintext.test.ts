/** Somebody reaches the Temporal namespace and has no payload key: nothing that it starts or answers is taken. */
import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { FailureInterceptor } from '../../src/activities/interceptor';
import { queueOfClass } from '../../src/domain/names';
import { REFUSED_PLAINTEXT } from '../../src/domain/plaintext';
import { boundedConverter, createPayloadCodec, dataConverterOf } from '../../src/encryption/payload-codec';
import { closeAfterAll } from '../support/closing';
import { TEST_SETTINGS } from '../support/settings';
import { devServer } from '../support/temporal';
import { workflowBundle } from '../support/workflow-bundle';

const keys = [{ id: 'test', key: randomBytes(32) }];
const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload(value) ?? {};
const valueOf = (one: Payload | undefined) => defaultPayloadConverter.fromPayload(one ?? {});

it.each(['taken', 'refused', 'replaced'] as const)('decodes plain text as it is told to: %s', async (plaintext) => {
  const told: string[] = [];
  const codec = createPayloadCodec({ keys, plaintext, onUnreadable: ({ code }) => told.push(code) });
  const [encrypted] = await codec.encode([payload({ own: true })]);
  expect(valueOf((await codec.decode([encrypted ?? {}]))[0])).toEqual({ own: true });
  const decoded = codec.decode([payload({ own: true })]).then(([one]) => valueOf(one));
  if (plaintext === 'refused') await expect(decoded).rejects.toThrow(/not encrypted.*EBRC_PAYLOADS=any takes it/u);
  else expect(await decoded).toEqual(plaintext === 'taken' ? { own: true } : { plaintextRefused: true });
  expect(told).toEqual(plaintext === 'taken' ? [] : ['plaintext']);
});

it('makes no call whose argument is in plain text', async () => {
  const interceptor = new FailureInterceptor({ logger: pino({ level: 'silent' }), settings: TEST_SETTINGS });
  const called = interceptor.execute({ args: [REFUSED_PLAINTEXT], headers: {} }, () => Promise.resolve('made'));
  await expect(called).rejects.toMatchObject({ type: 'plaintext_refused', nonRetryable: true });
});

describe('in a namespace that others reach', () => {
  const taskQueue = `plaintext-${randomBytes(4).toString('hex')}`;
  /** What the steps of a filing were told of the call before. */
  const steps: { called: string | null; failure: { message: string } | null; shared: boolean }[] = [];
  let plain: Client;
  let own: Client;
  const closing: (() => Promise<unknown>)[] = [];
  closeAfterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  beforeAll(async () => {
    const temporal = await devServer();
    closing.push(() => temporal.stop());
    const [env, connection] = await Promise.all([temporal.environment(), temporal.connect()]);
    const { namespace } = temporal;
    plain = new Client({ connection, namespace });
    own = new Client({ connection, namespace, dataConverter: dataConverterOf(keys, { plaintext: 'refused' }) });
    const view = { filingId: 'F1', reference: 'R', n: 1, state: 'submitting', counts: {}, errors: [], rows: null };
    const advanced = {
      filingId: 'F1',
      exporterId: 'e',
      told: null,
      shared: false,
      view,
      searchAttributes: [],
      text: '',
    };
    const common = {
      ...{ connection: env.nativeConnection, namespace, shutdownGraceTime: 0 },
      dataConverter: boundedConverter(dataConverterOf(keys, { plaintext: 'replaced' })),
      interceptors: {
        activity: [
          () => ({
            inbound: new FailureInterceptor({ logger: pino({ level: 'silent' }), settings: TEST_SETTINGS }),
          }),
        ],
      },
      activities: {
        advanceFiling: (args: (typeof steps)[number]) => {
          steps.push(args);
          const submit = { do: 'submit', n: 1, channel: 'push', summary: 'Send 1 row' };
          const next = steps.length === 1 ? submit : { do: 'end' };
          return Promise.resolve({ ...advanced, next, now: Date.now() });
        },
      },
    };
    // It does not need to read what it is asked.
    const blind = {
      encode: (payloads: Payload[]) => Promise.resolve(payloads),
      decode: (payloads: Payload[]) => Promise.resolve(payloads.map(() => payload({}))),
    };
    const theirs = {
      dataConverter: { payloadCodecs: [blind] },
      ...{ connection: env.nativeConnection, namespace, shutdownGraceTime: 0 },
      activities: { submitPush: () => Promise.resolve({ begun: false, requestId: 'FORGED' }) },
    };
    const workers = await Promise.all([
      Worker.create({ ...common, taskQueue, workflowBundle: await workflowBundle() }),
      Worker.create({ ...theirs, taskQueue: queueOfClass(taskQueue, 'push') }),
    ]);
    const running = workers.map((worker) => worker.run());
    closing.push(() => {
      for (const worker of workers) worker.shutdown();
      return Promise.all(running);
    });
  }, 120_000);

  it('refuses an input in plain text, and says what to use', async () => {
    const run = plain.workflow.execute('fileRemittances', {
      workflowId: 'file/test/PLAIN',
      taskQueue,
      args: [{ mode: 'test', exporterId: 'e', reference: 'PLAIN', message: {} }],
    });
    await expect(run).rejects.toMatchObject({
      cause: { type: 'plaintext_refused', message: expect.stringMatching(/docs\/callers\.md/u) as string },
    });
    expect(steps).toEqual([]);
  });

  it('takes an answer in plain text for none', async () => {
    const args = [{ mode: 'test', exporterId: 'e', reference: 'OWN', message: {} }];
    const handle = await own.workflow.start('fileRemittances', { workflowId: 'file/test/OWN', taskQueue, args });
    await handle.result();
    expect(steps.map(({ called }) => called)).toEqual([null, 'submit']);
    expect(steps[1]?.failure?.message).toMatch(/result of submitPush is not encrypted/u);
    // It counts as a sender that may still be at it, and not as one that says that it wrote nothing.
    expect(steps[1]).toMatchObject({ shared: true, notBegun: false });
  });
});
