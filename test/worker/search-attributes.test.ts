/** Temporal is started empty while workers run: workflows that set a search attribute need it back. */
import pino from 'pino';
import { SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { startBackgroundJobs } from '../../src/worker/background-jobs';
import { searchAttributesJob } from '../../src/worker/jobs';
import { useDevServer } from '../support/temporal';
import { eventually } from '../support/processes';

const server = useDevServer();

it('registers a search attribute again that is gone', async () => {
  const client = await server.client();
  const { namespace } = server;
  const { operatorService } = client.connection;
  const registered = async () =>
    Object.keys((await operatorService.listSearchAttributes({ namespace })).customAttributes);
  await operatorService.removeSearchAttributes({ namespace, searchAttributes: ['EbrcMode'] });
  await eventually(async () => !(await registered()).includes('EbrcMode'));
  const job = searchAttributesJob(client, namespace, pino({ level: 'silent' }));
  const jobs = startBackgroundJobs([{ ...job, everyMs: 50 }], pino({ level: 'silent' }));
  await eventually(async () => (await registered()).includes('EbrcMode'));
  await jobs.stop();
  expect(await registered()).toEqual(expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTES)));
});
