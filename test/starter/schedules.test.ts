/** The schedules of a file on a real Temporal server. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { readScheduleFile, applySchedules, deleteSchedules, listSchedules } from '../../src/starter/schedules';
import { testFolder } from '../support/folder';
import { eventually } from '../support/processes';
import { devServer, type DevServer } from '../support/temporal';

const PACKAGED = join(__dirname, '..', '..', 'schedules.yaml');

const folder = testFolder();

async function fileWith(text: string): Promise<string> {
  const path = join(folder, `${Math.random()}.yaml`);
  await writeFile(path, text);
  return path;
}

const one = (id: string, more = '') =>
  `  - { id: ${id}, workflowType: refreshIrms, cron: '30 5 * * *', jitter: 5m, catchupWindow: 2h${more} }\n`;

describe('the file', () => {
  it('of the package names each kind of work, in Asia/Kolkata', async () => {
    const planned = await readScheduleFile(PACKAGED);
    expect(planned.map(({ id }) => id)).toEqual('refresh-irms reconcile heal-pdfs overdue daily-report'.split(' '));
    expect(new Set(planned.map(({ timezone }) => timezone))).toEqual(new Set(['Asia/Kolkata']));
  });

  it('that is not there is named, with the variable', async () => {
    await expect(readScheduleFile(join(folder, 'none.yaml'))).rejects.toThrow(/none\.yaml.*EBRC_SCHEDULES/);
  });

  it.each([
    ['no YAML', 'schedules: [', /line 1: /],
    [
      'another workflow',
      `schedules:\n${one('a').replace('refreshIrms', 'fileRemittances')}`,
      /line 2: schedules\.0\.workflowType/,
    ],
    ['a cron of four parts', `schedules:\n${one('a').replace('30 5', '5')}`, /line 2: schedules\.0\.cron: five parts/],
    ['an unknown word', `schedules:\n${one('a', ', often: yes')}`, /line 2: schedules\.0: there is no field often/],
    [
      'no id',
      `schedules:\n${one('a').replace('id: a, ', '')}`,
      /line 2: schedules\.0\.id: is missing; allowed: a text/,
    ],
    ['an id twice', `schedules:\n${one('a')}${one('a')}`, /id a is used twice/],
  ])('is refused with the place for %s', async (_name, text, message) => {
    await expect(readScheduleFile(await fileWith(text))).rejects.toThrow(message);
  });
});

describe('on the server', () => {
  let server: DevServer;
  let temporal: Client;
  beforeAll(async () => {
    server = await devServer();
    temporal = await server.client();
  });
  afterAll(() => server?.stop());

  const apply = async (text: string) =>
    applySchedules({
      temporal,
      mode: 'test',
      taskQueue: 'nobody-polls',
      planned: await readScheduleFile(await fileWith(text)),
    });

  it('are created, updated and removed to agree with the file; a paused one stays paused', async () => {
    const made = await apply(`schedules:\n${one('a')}${one('b')}`);
    expect(made).toMatchObject([
      {
        id: 'ebrc-test-a',
        workflowType: 'refreshIrms',
        state: 'active',
        overlap: 'SKIP',
        timezone: 'Asia/Kolkata',
        lastResult: null,
      },
      { id: 'ebrc-test-b' },
    ]);
    expect(made[0]?.next.length).toBe(3);
    // The server's list shows new schedules a moment later, the busier it is.
    await eventually(async () => (await listSchedules({ temporal, mode: 'test' })).length === 2);
    const first = temporal.schedule.getHandle('ebrc-test-a');
    await first.pause();
    // A busy server pauses it a moment later; until then what is applied writes the state from before.
    await eventually(async () => (await first.describe()).state.paused);
    await first.trigger();

    const changed = await apply(`timezone: UTC\nschedules:\n${one('a')}`);
    expect(changed).toMatchObject([
      { id: 'ebrc-test-a', state: 'paused', timezone: 'UTC' },
      { id: 'ebrc-test-b', state: 'deleted', next: [] },
    ]);
    const listed = await listSchedules({ temporal, mode: 'test' });
    expect(listed).toMatchObject([
      { id: 'ebrc-test-a', lastResult: { workflowId: expect.stringContaining('schedule/test/a'), status: 'RUNNING' } },
    ]);
    expect(await listSchedules({ temporal, mode: 'live' })).toEqual([]);
    await deleteSchedules({ temporal, mode: 'test' });
    expect(await listSchedules({ temporal, mode: 'test' })).toEqual([]);
  });
});
