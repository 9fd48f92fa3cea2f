import { startClassWorkers, type ClassWorkersOptions } from './class-workers';
import { quietRuntime } from './quiet-runtime';

/** A worker process. Its options are its first argument; it prints `ready` and ends when its standard input does. */
async function main(options: ClassWorkersOptions): Promise<void> {
  quietRuntime();
  const workers = await startClassWorkers(options);
  console.log('ready');
  process.stdin.resume();
  await new Promise((resolve) => process.stdin.once('end', resolve));
  await workers.stop();
}

void main(JSON.parse(process.argv[2]!) as ClassWorkersOptions);
