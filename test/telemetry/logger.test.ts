import { logLine } from '../../src/telemetry/logger';
import { createLogger, withLogScope } from '../../src/telemetry/logger';
import { temporalLogger } from '../../src/worker/runtime';

let lines: string[];
let logger: ReturnType<typeof createLogger>;

beforeEach(() => {
  lines = [];
  const tracer = { current: () => ({ traceId: 'trace-1', spanId: 'span-1' }) };
  logger = createLogger({ level: 'info', tracer, destination: { write: (line) => void lines.push(line) } });
});

const written = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

const PERSONAL = {
  password: 'hunter2',
  'x-api-key': 'dev_hunter2',
  iec: 'AAKCK7719P',
  email: 'accounts@kaveri.example',
  exporterName: 'Kaveri Softworks',
  irmAvailableAmt: 91_234.56,
};
const SHOWS_SOMETHING = /hunter2|AAKCK7719P|kaveri|91234|91_234/i;

it('writes only fields that are named, however deep the others stand', () => {
  logger.info(PERSONAL, 'flat');
  logger.info({ request: { headers: PERSONAL, body: JSON.stringify(PERSONAL) } }, 'a whole request');
  logger.info({ kind: PERSONAL, filingId: 'F1' }, 'under a name that is allowed');
  logger.info({ rows: [PERSONAL] }, 'in a list');
  expect(lines.join('')).not.toMatch(SHOWS_SOMETHING);
  expect(written()).toMatchObject([
    { msg: 'flat', droppedFields: 6 },
    { msg: 'a whole request', droppedFields: 1 },
    { msg: 'under a name that is allowed', filingId: 'F1', droppedFields: 1 },
    { msg: 'in a list', droppedFields: 1 },
  ]);
  expect(() => logger.child({ exporter: PERSONAL })).toThrow('withLogScope');
});

it('masks what names somebody or opens something in messages and errors, and drops what else an error carries', () => {
  const cause = new Error('Key (email)=(accounts@kaveri.example) already exists for AAKCK7719P');
  const error = Object.assign(new Error('postgres://kaveri:hunter2@db/ebrc refused dev_hunter2', { cause }), {
    code: '23505',
    detail: PERSONAL,
    query: `INSERT … ${JSON.stringify(PERSONAL)}`,
  });
  logger.warn({ err: error }, 'no exporter accounts@kaveri.example with IEC %s and 27AAKCK7719P1Z5', 'AAKCK7719P');
  logger.error(error);
  expect(lines.join('')).not.toMatch(SHOWS_SOMETHING);
  expect(written()[0]).toMatchObject({
    msg: 'no exporter [email] with IEC [iec] and [gstin]',
    err: {
      type: 'Error',
      code: '23505',
      message: 'postgres://[credentials]@db/ebrc refused [key]',
      stack: expect.stringContaining('logger.test') as string,
      cause: { message: 'Key (email)=([email]) already exists for [iec]' },
    },
  });
});

it('masks the tokens of principals, and what is cut at the end of a long text', () => {
  logger.warn(`of ebrc_live_${'hunter2'.repeat(7).slice(0, 43)}`);
  for (const room of [3, 9, 14, 20, 25]) {
    logger.warn(`${'x '.repeat(1_000 - room)}accounts.kaveri@shop.example`);
    logger.warn(`${'x '.repeat(1_000 - room)}postgres://kaveri:hunter2@db/ebrc`);
  }
  expect(lines.join('')).not.toMatch(/hunter|kaveri|accounts/);
  expect(written()[0]).toMatchObject({ msg: 'of [token]' });
});

it('a line names its filing, exporter and trace', () => {
  withLogScope({ filingId: 'F1', exporterId: 'e-1', workflowId: 'file/test/R1', activity: 'submitPush' }, () =>
    logger.info({ kind: 'timeout' }, 'not sent'),
  );
  logger.info('outside');
  logger.debug('not at this level');
  expect(written()).toMatchObject([
    { filingId: 'F1', exporterId: 'e-1', workflowId: 'file/test/R1', traceId: 'trace-1', kind: 'timeout' },
    { msg: 'outside', traceId: 'trace-1' },
  ]);
  expect(written()[1]).not.toHaveProperty('filingId');
});

it('a line for people has time, words, reason and ids, and nothing of other programs is lost', () => {
  logger.warn({ filingId: 'F1', rows: 3, err: new Error('no room') }, 'not stored');
  expect(logLine(lines[0] ?? '')).toMatch(/^\d\d:\d\d:\d\d WARN not stored \(no room\)  .*filingId=F1 rows=3/u);
  expect(logLine('plain text')).toBe('plain text');
});

it('says once that Temporal does not answer, until it was quiet for a while', () => {
  let now = 0;
  const temporal = temporalLogger(logger, () => now);
  const retried = (seconds: number, call: string) => {
    now = seconds * 1_000;
    temporal.warn(`gRPC call ${call} retried ${seconds} times`);
  };
  for (const seconds of [0, 10, 50, 100, 150]) retried(seconds, 'poll_workflow_task_queue');
  retried(151, 'poll_activity_task_queue');
  retried(600, 'poll_activity_task_queue');
  temporal.warn('Something else');
  expect(written().map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/^Temporal does not answer; .*: gRPC call poll_workflow_task_queue retried 0 times$/u),
    expect.stringMatching(/retried 600 times$/u),
    'Something else',
  ]);
});

it('writes why a workflow task failed where that names code alone', () => {
  const temporal = temporalLogger(logger);
  const fail = (message: string) =>
    temporal.warn('Failing workflow task', {
      run_id: 'run-1',
      failure: `Failure { failure: Some(Failure { message: "${message}", source: "", stack_trace: "" }), force_cause: Unspecified }`,
    });
  fail('[TMPRL1100] Nondeterminism error: Activity type of scheduled event \\"readCompany\\" does not match');
  fail("TypeError: Cannot read properties of undefined (reading 'rows')\\nsecond line");
  fail('The step on the ledger failed: Kaveri Softworks has 91234.56');
  expect(lines.join('')).not.toMatch(SHOWS_SOMETHING);
  expect(written().map(({ msg, runId, problem }) => [msg, runId, problem])).toEqual([
    [
      'Failing workflow task',
      'run-1',
      '[TMPRL1100] Nondeterminism error: Activity type of scheduled event "readCompany" does not match',
    ],
    ['Failing workflow task', 'run-1', "TypeError: Cannot read properties of undefined (reading 'rows')"],
    ['Failing workflow task', 'run-1', expect.stringContaining('Temporal UI')],
  ]);
});
