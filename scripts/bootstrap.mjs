// Installs what a command needs before it runs: the npm packages, and the servers that are named.
//
//   node scripts/bootstrap.mjs [temporal] [test-server]
//
// Uses no npm package, because nothing is installed when it runs for the first time. Everything is fetched in parallel.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installDependencies } from './lib/dependencies.mjs';
import { createReport } from './lib/report.mjs';
import { obtainCli } from './lib/temporal-cli.mjs';
import { obtainTestServer } from './lib/test-server.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OLDEST_NODE = [20, 19];

const SERVERS = { temporal: obtainCli, 'test-server': obtainTestServer };

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in SERVERS));
if (unknown) {
  process.stderr.write(`bootstrap: "${unknown}" is none of ${Object.keys(SERVERS).join(', ')}\n`);
  process.exit(2);
}

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  process.stderr.write(`Node.js ${process.versions.node} is too old: ${OLDEST_NODE.join('.')} or newer is needed.\n`);
  process.exit(2);
}

const report = createReport();
try {
  await Promise.all([installDependencies(ROOT, report), ...wanted.map((name) => SERVERS[name](report))]);
} catch (error) {
  // Exiting stops the other downloads and builds; the next run continues them.
  report.line(`\n${error.message}`);
  process.exit(1);
}
