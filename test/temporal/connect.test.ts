/** A connection that is closed while a failed call waits for its repetition. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { connect } from '../../src/temporal/connect';

it('ends a call as cancelled that would be repeated after the connection was closed', async () => {
  const server = new Server();
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const connection = await connect({ address: `127.0.0.1:${port}` });
  server.forceShutdown();
  const call = connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
  await sleep(50);
  await connection.close();
  expect(await call).toMatchObject({ code: 1, details: expect.stringContaining('shut down') as string });
});
