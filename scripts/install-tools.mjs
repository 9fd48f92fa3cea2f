// `npm run tools`: builds the optional tools of the tests with Go: Prometheus's `promtool` for the alert rules and
// `versitygw` as an S3 server. Without them their tests are skipped. Each takes several minutes from scratch, so
// neither `.ci/run` nor `npm test` builds them; CI keeps them in a cache.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isExecutable, run, which } from './lib/run.mjs';

const TOOLS = {
  promtool: 'github.com/prometheus/prometheus/cmd/promtool@v0.316.0',
  versitygw: 'github.com/versity/versitygw/cmd/versitygw@v1.8.0',
};

for (const [name, module] of Object.entries(TOOLS)) {
  const path = (await which(name)) ?? join(homedir(), 'go', 'bin', name);
  if (await isExecutable(path)) {
    process.stdout.write(`${name}: ${path}\n`);
    continue;
  }
  process.stdout.write(`${name}: building ${module} …\n`);
  await run('go', ['install', module], { env: { GOBIN: join(homedir(), 'go', 'bin') }, withinMs: 30 * 60_000 });
}
