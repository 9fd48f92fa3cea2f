import { readdir, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { claimFolder } from '../../dev/claim-folder';
import { startLocal } from '../../dev/local';
import { programArguments } from '../support/command-line';
import { useFolder } from '../support/folder';

let folder: string;
useFolder((made) => (folder = made));
const start = () =>
  startLocal({ keep: false, folder, sandbox: { activationDelay: '1s', ackDelay: '1s' }, log: () => undefined });

it('refuses a second run in a folder, and leaves its data alone, until the first has ended', async () => {
  await writeFile(join(folder, 'data'), 'of the first run');
  const first = await claimFolder(folder);
  await expect(start()).rejects.toThrow(/Another run uses .* Stop that one first/);
  expect(await readdir(folder)).toEqual(['data']);
  await first.stop();
  await (await claimFolder(folder)).stop();
});

it('lets one of several take over from a run that was killed', async () => {
  const program = join(folder, 'claim.ts');
  const source = join(__dirname, '..', '..', 'dev', 'claim-folder');
  await writeFile(
    program,
    `import { claimFolder } from ${JSON.stringify(source)};
     void claimFolder(${JSON.stringify(folder)}).then(() => { console.log('claimed'); setInterval(() => undefined, 1000); });`,
  );
  const [hook, loader] = programArguments('');
  const child = spawn(process.execPath, [hook ?? '', loader ?? '', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(createInterface({ input: child.stdout }), 'line');
  await expect(claimFolder(folder)).rejects.toThrow(/Another run/);
  child.kill('SIGKILL');
  await once(child, 'close');
  const claims = await Promise.allSettled(
    Array.from({ length: 20 }, (_unused, nth) => sleep(nth / 4).then(() => claimFolder(folder))),
  );
  const taken = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
  expect(taken).toHaveLength(1);
  await taken[0]?.stop();
});
