/** The description of the HTTP API, made without any server: it is kept in schemas/openapi.json. */
import pino from 'pino';
import type { Gate } from './access/gate';
import { createApp } from './app';
import type { Door } from './context';
import { BOUNDS } from './http/limits';

/** OpenAPI 3.1, as `/v1/openapi.json` answers it. */
export async function describeApi(): Promise<string> {
  // Nothing of it is used before a request comes.
  const [door, gate] = [{ deps: {} } as Door, {} as Gate];
  const app = await createApp({ door, gate, logger: pino({ level: 'silent' }), bounds: BOUNDS });
  await app.ready();
  const description = app.swagger();
  await app.close();
  return `${JSON.stringify(description, null, 2)}\n`;
}
