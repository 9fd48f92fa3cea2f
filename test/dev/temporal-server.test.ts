import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { findServer } from '../../dev/servers';
import { startTemporalServer } from '../../dev/temporal-server';
import { isAlive } from '../support/processes';
import { useFolder } from '../support/folder';

let folder: string;

useFolder((made) => (folder = made));

it('serves with its search attributes and its UI, keeps its database, and stops on request', async () => {
  const first = await startTemporalServer({ folder });
  const connection = await Connection.connect({ address: first.address });
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: first.namespace });
  expect(Object.keys(customAttributes ?? {})).toEqual(expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTES)));
  const page = await fetch(`${first.uiUrl}/`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringMatching(/<!doctype html>/i)]);

  const handle = await new Client({ connection, namespace: first.namespace }).workflow.start('never', {
    workflowId: 'kept',
    taskQueue: 'nobody',
  });
  expect((await handle.describe()).status.name).toBe('RUNNING');
  const asked = await fetch(`${first.httpUrl}/api/v1/namespaces/default/workflows/kept`);
  expect(await asked.json()).toMatchObject({ workflowExecutionInfo: { type: { name: 'never' } } });
  await connection.close();
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);

  const second = await startTemporalServer({ folder, headless: true });
  const again = await Connection.connect({ address: second.address });
  const kept = await new Client({ connection: again, namespace: second.namespace }).workflow
    .getHandle('kept')
    .describe();
  expect([kept.status.name, second.uiUrl]).toEqual(['RUNNING', null]);
  await again.close();
  await second.stop();
});

it('tries again with other ports when the server ends while it starts', async () => {
  const executable = join(folder, 'temporal');
  const script = `#!/bin/sh\ncd ${folder}\nif [ ! -e tried ]; then touch tried; exit 2; fi\nexec ${await findServer('temporal')} "$@"\n`;
  await writeFile(executable, script, { mode: 0o755 });
  const server = await startTemporalServer({ executable, headless: true });
  expect(isAlive(server.pid)).toBe(true);
  await server.stop();
});

it('reports the message of a panic, which stands far above the end of the log', async () => {
  const executable = join(folder, 'temporal');
  const frames = 'at a frame of the stack\n'.repeat(400);
  await writeFile(executable, `#!/bin/sh\ncat <<'END'\n\npanic: no port\n${frames}END\nexit 2\n`, { mode: 0o755 });
  await expect(startTemporalServer({ folder, executable })).rejects.toThrow(/ended with code 2: panic: no port/);
});
