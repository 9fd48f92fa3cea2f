/**
 * Serves health, prints its port, and freezes its event loop for the milliseconds that it reads from standard input.
 */
import { join } from 'node:path';
import { startHealthServer } from '../../src/worker/health/health-server';

async function main(): Promise<void> {
  const execArgv = ['-r', join(__dirname, '../../scripts/typescript.cjs')];
  const health = await startHealthServer({ host: '127.0.0.1', port: 0 }, { execArgv });
  health.watch([{ name: 'always', look: () => Promise.resolve('answers') }]);
  process.stdout.write(`${health.port}\n`);
  process.stdin.on('data', (text) => {
    const until = performance.now() + Number(text.toString());
    while (performance.now() < until);
  });
  process.stdin.on('end', () => void health.close().then(() => process.exit(0)));
}

void main();
