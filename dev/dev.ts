/** `npm run dev`: all servers on this machine, until Ctrl-C. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startLocal } from './local';
import { runCommand } from './run-command';

const FOLDER = join(__dirname, '..', '.state', 'dev');

async function dev(): Promise<void> {
  const local = await startLocal({
    folder: FOLDER,
    sandbox: { activationDelay: '5s', ackDelay: '10s' },
    log: (message) => process.stdout.write(`• ${message}\n`),
  });
  const stopped = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve());
  });
  // So that `ebrc doctor` finds nothing missing.
  await runCommand(['schedules', 'apply', '--json'], { env: local.childEnv, capture: true });
  const exports = Object.entries(local.env).map(([name, value]) => `export ${name}='${value}'`);
  const file = join(FOLDER, 'env.sh');
  await writeFile(file, `${exports.join('\n')}\n`, { mode: 0o600 });
  process.stdout.write(
    `\nEverything is running. Temporal UI: ${local.stack.temporal.uiUrl ?? 'none'}; logs: ${local.logs}\n\n` +
      `In another terminal (\`npm link\` in this folder puts \`ebrc\` on the PATH, once):\n\n  . ${file}\n\n` +
      `which is\n\n${exports.join('\n')}\n\n` +
      `  ebrc doctor\n` +
      `  ebrc onboard --name Kaveri --email accounts@kaveri.example --username kaveri.softworks --wait   # Kaveri@Soft9\n` +
      `  ebrc irms accounts@kaveri.example\n\n` +
      `The HTTP API is at ${local.door.url}/v1 (described at ${local.door.url}/docs), with this principal's token:\n\n` +
      `  curl -H 'Authorization: Bearer ${local.door.token}' ${local.door.url}/v1/filings\n\n` +
      `The portal accounts of the sandbox are in docs/sandbox.md. Ctrl-C stops everything.\n`,
  );
  try {
    await Promise.race([stopped, local.failed]);
  } finally {
    process.stdout.write('\n• stopping the HTTP API, the worker, the sandbox, Temporal and PostgreSQL …\n');
    await local.stop();
  }
}

dev().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(
      `\nThe stack failed: ${error instanceof Error ? error.message : String(error)}\nLogs: ${FOLDER}\n`,
    );
    process.exit(1);
  },
);
