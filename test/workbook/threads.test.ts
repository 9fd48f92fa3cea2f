import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readWorkbook, WorkbookRefused } from '../../src/workbook/read';
import { createBoundedThread } from '../../src/workbook/bounded-thread';
import { createWorkbookThreads } from '../../src/workbook/workbooks';
import { eventually } from '../support/processes';
import { book, cells } from './fixtures';

// The threads run the sources as they are, as the tests do.
const execArgv = ['-r', join(__dirname, '../../scripts/typescript.cjs')];

const row = async () => (await readWorkbook(await book([cells()]))).rows;

test('workbooks are written, annotated and read in a thread, and come back whole', async () => {
  const threads = createWorkbookThreads({ execArgv });
  try {
    const rows = await row();
    const written = await threads.write(rows);
    expect((await readWorkbook(written)).rows).toEqual(rows);
    const findings = [{ severity: 'error' as const, code: 'x', row: 2, field: 'irmDt', message: 'wrong' }];
    const annotated = await threads.annotate({ source: written, findings });
    expect([...(await readWorkbook(annotated)).statuses]).toEqual([[2, 'Error']]);
    expect(await threads.templateLabels(written)).toHaveLength(37);
    await expect(threads.annotate({ source: Buffer.from('no workbook'), findings })).rejects.toMatchObject({
      constructor: WorkbookRefused,
      code: 'not_a_workbook',
    });
    const unwritable = rows.map((each) => ({ ...each, mapping: { ...each.mapping, billNo: '\u0007' } }));
    await expect(threads.write(unwritable)).rejects.toThrow('Row 2: billNo holds a control character');
  } finally {
    await threads.close();
  }
});

test('a job beyond its time ends with a refusal', async () => {
  const hurried = createWorkbookThreads({ execArgv, timeoutMs: 1 });
  await expect(hurried.annotate({ source: await book([cells()]), findings: [] })).rejects.toMatchObject({
    code: 'too_slow',
  });
  await hurried.close();
});

test('the time of a job begins with the job: one that never ends costs those behind it nothing of theirs', async () => {
  const clocks: AbortController[] = [];
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const clock = new AbortController();
    clocks.push(clock);
    return clock.signal;
  });
  const program = join(await mkdtemp(join(tmpdir(), 'ebrc-thread-')), 'program.cjs');
  await writeFile(program, `module.exports = (job) => (job === 'endless' ? new Promise(() => {}) : job);`);
  const jobs = createBoundedThread<string, string>(program, {
    idleMs: 1_000,
    timeoutMs: 60_000,
    memoryMb: 64,
    execArgv: undefined,
  });
  try {
    const endless = jobs.run('endless');
    const next = jobs.run('next');
    await eventually(() => Promise.resolve(clocks.length > 0));
    expect(clocks).toHaveLength(1);
    clocks[0]?.abort();
    await expect(endless).rejects.toMatchObject({ name: 'AbortError' });
    expect(await next).toBe('next');
    expect(clocks).toHaveLength(2);
  } finally {
    timeout.mockRestore();
    await jobs.close();
  }
}, 20_000);

test('a job beyond its memory ends with a refusal instead of the process, and the next one is done', async () => {
  const threads = createWorkbookThreads({ execArgv, memoryMb: 60 });
  try {
    const rows = await row();
    const text = 'x'.repeat(1000);
    const many = Array.from({ length: 999 }, () => ({
      ...rows[0],
      extra: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`Column ${at}`, text])),
    }));
    await expect(threads.write(many as typeof rows)).rejects.toMatchObject({ code: 'too_large' });
    expect((await readWorkbook(await threads.write(rows))).rows).toEqual(rows);
  } finally {
    await threads.close();
  }
});

test('jobs of different exporters take turns: nobody waits for all that another handed in before', async () => {
  const threads = createWorkbookThreads({ execArgv });
  const order: string[] = [];
  const upload = (whose: string, source: Buffer) =>
    threads
      .of(whose)
      .annotate({ source, findings: [] })
      .then(() => order.push(whose));
  const source = await book([cells()]);
  // All wait before the first job ends; the thread itself has to be started for it.
  await Promise.all([
    ...Array.from({ length: 6 }, () => upload('flood', source)),
    upload('asha', source),
    upload('ravi', source),
  ]);
  await threads.close();
  expect(order).toEqual(['flood', 'flood', 'asha', 'ravi', 'flood', 'flood', 'flood', 'flood']);
});
