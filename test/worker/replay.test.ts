/** `ebrc deploy check`: which open runs a build could not go on with. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRun } from '../../src/temporal/runs';
import { replayOpenRuns } from '../../src/worker/replay';
import { testFolder } from '../support/folder';
import { eventually } from '../support/processes';
import { useDevServer } from '../support/temporal';
import { bundleOf, startBuild, type Build } from '../temporal/support/builds';

const server = useDevServer();
const folder = testFolder();
const taskQueue = 'check';

it('names the open runs that a build cannot replay, and no others', async () => {
  const temporal = await server.client();
  const handle = temporal.workflow.getHandle('file/test/open');
  const common = { mode: 'test', exporterId: 'E1', n: 1, state: 'processing' } as const;
  const open = { ...common, workflowId: handle.workflowId, filingId: 'F1', reference: 'open' };
  const stop = await startBuild(server, 'waits', taskQueue);
  await startRun(temporal, taskQueue, open);
  await eventually(async () =>
    Boolean((await handle.fetchHistory()).events?.some((event) => event.workflowTaskCompletedEventAttributes)),
  );
  await stop();
  await startRun(temporal, 'of another installation', { ...open, workflowId: 'file/test/elsewhere' });
  const listed = `WorkflowId = '${handle.workflowId}'`;
  await eventually(async () => (await temporal.workflow.count(listed)).count === 1);

  const check = async (build: Build) => {
    const codePath = join(folder, `${build}.js`);
    await writeFile(codePath, (await bundleOf(build)).code);
    const seen: string[] = [];
    const replayed = await replayOpenRuns(
      { temporal, taskQueue, payloadKeys: [], payloads: 'any' as const, codePath },
      (run) => {
        seen.push(run.workflowId);
      },
    );
    expect(seen).toEqual([handle.workflowId]);
    return replayed;
  };
  const run = { workflowId: handle.workflowId, workflowType: 'fileRemittances' };
  expect(await check('waits')).toEqual([{ ...run, error: null, replaced: false }]);
  expect(await check('sleeps')).toEqual([
    { ...run, error: expect.stringContaining('TMPRL1100') as string, replaced: true },
  ]);
  expect(await check('breaks')).toMatchObject([{ error: expect.stringContaining('broken') as string }]);
});
