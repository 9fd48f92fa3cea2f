import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheFolder } from './cache.mjs';
import { onExit } from './cleanup.mjs';
import { isExecutable, run, which } from './run.mjs';

/** The engine of `env`: its client, and how to end it. */
function engine(env, stop) {
  return { env, stop, run: (args, options) => run('docker', args, { env, withinMs: 60_000, ...options }) };
}

/**
 * The Docker engine that answers, or one that is started, as root alone; null where there is neither. Its images stay in
 * the cache for the next run. Without BuildKit's client images are built by the engine itself.
 */
export async function startEngine(say) {
  if (!(await which('docker'))) return null;
  const builder = (await run('docker', ['buildx', 'version']).catch(() => null)) ? {} : { DOCKER_BUILDKIT: '0' };
  const running = engine(builder, async () => undefined);
  if (await running.run(['info']).catch(() => null)) return running;
  const daemon = (await which('dockerd')) ?? ((await isExecutable('/usr/sbin/dockerd')) ? '/usr/sbin/dockerd' : null);
  if (!daemon || process.getuid?.() !== 0) return null;
  const folder = join(cacheFolder(), 'docker');
  await mkdir(folder, { recursive: true });
  const socket = `unix://${join(folder, 'docker.sock')}`;
  const at = (name) => join(folder, name);
  const args = ['--data-root', at('data'), '--exec-root', at('exec'), '-H', socket, '-p', at('pid')];
  const child = spawn(daemon, args, { stdio: 'ignore' });
  child.once('error', () => undefined);
  const cancel = onExit(() => child.kill('SIGTERM'));
  const own = engine({ ...builder, DOCKER_HOST: socket }, async () => {
    cancel();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill('SIGTERM')) await ended;
  });
  for (let tries = 0; tries < 30 && child.exitCode === null; tries += 1) {
    if (await own.run(['info']).catch(() => null)) {
      say('started a Docker engine');
      return own;
    }
    await sleep(1_000);
  }
  await own.stop();
  return null;
}
