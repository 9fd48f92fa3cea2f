// Prints the paths of the installed Temporal servers as one line of JSON: {"temporal", "testServer"}, null for one that
// is missing. Fetches nothing.
import { findCli } from './lib/temporal-cli.mjs';
import { findTestServer } from './lib/test-server.mjs';

const [cli, testServer] = await Promise.all([findCli(), findTestServer()]);
process.stdout.write(`${JSON.stringify({ temporal: cli?.path ?? null, testServer: testServer?.path ?? null })}\n`);
