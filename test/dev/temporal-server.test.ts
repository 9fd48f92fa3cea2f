import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../src/domain/search-attributes';
import { startTemporalServer } from '../../dev/temporal-server';
import { isAlive } from '../support/processes';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ebrc-temporal-test-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

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

it("reports the server's own message when it does not start", async () => {
  const starting = startTemporalServer({ folder, executable: '/bin/sh' });
  await expect(starting).rejects.toThrow(/The Temporal development server ended with code \d+: .*(server|sh)/s);
});

it('reports a missing binary', async () => {
  await expect(startTemporalServer({ folder, executable: '/nowhere/temporal' })).rejects.toThrow(/ENOENT/);
});
