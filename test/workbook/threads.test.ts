import { join } from 'node:path';
import { readWorkbook, WorkbookRefused } from '../../src/workbook/read';
import { createWorkbookThreads } from '../../src/workbook/threads';
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

test('a job beyond its time ends with a refusal, and the next one is done', async () => {
  const source = await book([cells()]);
  const hurried = createWorkbookThreads({ execArgv, timeoutMs: 1 });
  await expect(hurried.annotate({ source, findings: [] })).rejects.toMatchObject({ code: 'too_slow' });
  await hurried.close();
});

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

test('uploads of different exporters take turns, and the time of each begins when it is its turn', async () => {
  const slow = await book(Array.from({ length: 2_000 }, () => cells()));
  const small = await book([cells()]);
  const once = createWorkbookThreads({ execArgv });
  const from = performance.now();
  await once.annotate({ source: slow, findings: [] });
  const took = performance.now() - from;
  await once.close();
  // In the line of one exporter's twelve, any other would be out of time before its turn.
  const threads = createWorkbookThreads({ execArgv, timeoutMs: Math.ceil(4 * took) + 1_000 });
  const order: string[] = [];
  const upload = (whose: string, source: Buffer) =>
    threads
      .of(whose)
      .annotate({ source, findings: [] })
      .then(() => order.push(whose));
  await Promise.all([
    ...Array.from({ length: 12 }, () => upload('flood', slow)),
    upload('asha', small),
    upload('ravi', small),
  ]);
  await threads.close();
  expect(order).toHaveLength(14);
  expect(Math.max(order.indexOf('asha'), order.indexOf('ravi'))).toBeLessThan(4);
});
