/** The files that `-o` names, before any server is asked. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../src/starter/errors';
import { testFolder } from '../support/folder';
import { ebrc } from '../support/command-line';

const folder = testFolder();

/** Every command that writes a file of the user's choice, and an ending that it takes. */
const COMMANDS: readonly [name: string, args: string[], ending: string][] = [
  ['template', ['template', 'a@b.example'], '.xlsx'],
  ['check', ['check', 'july.xlsx', '--exporter', 'a@b.example'], '.xlsx'],
  ['propose', ['propose', 'a@b.example'], '.xlsx'],
  ['draft', ['draft', '--exporter', 'a@b.example', 'bills'], '.xlsx'],
  ['extract', ['extract', 'invoice', 'a.pdf'], '.json'],
  ['report', ['report', 'daily'], '.html'],
  ['evidence', ['evidence', 'JULY-2026'], '.zip'],
];

async function errorOf(args: readonly string[]): Promise<Problem & { exit: number | null }> {
  const { code, json } = await ebrc([...args, '--json']);
  return { ...json<{ errors: Problem[] }>().errors[0]!, exit: code };
}

it.each(COMMANDS)('%s leaves a file that exists as it is, unless it is forced', async (_name, args, ending) => {
  const path = join(folder, `filled-in${ending}`);
  await writeFile(path, 'an afternoon of work');
  const refused = await errorOf([...args, '-o', path]);
  expect(refused).toMatchObject({ exit: 2, code: 'file_exists' });
  expect(refused.message).toBe(`${path} exists. Name another file, or replace this one with --force.`);
  // It goes on to what comes next: no configuration, or no such file.
  expect((await errorOf([...args, '-o', path, '--force'])).code).not.toBe('file_exists');
  expect(await readFile(path, 'utf8')).toBe('an afternoon of work');
});

it.each(COMMANDS)('%s names a folder that is missing, and the endings that it writes', async (_name, args, ending) => {
  const [missing, wrong] = [join(folder, 'none', `new${ending}`), join(folder, 'new.csv')];
  expect(await errorOf([...args, '-o', missing])).toMatchObject({
    exit: 2,
    message: `There is no folder ${join(folder, 'none')}. Make it first, or name a file in another folder.`,
  });
  expect(await errorOf([...args, '-o', wrong])).toMatchObject({
    exit: 2,
    message: expect.stringContaining(ending) as string,
  });
  expect(await errorOf([...args, '-o', folder])).toMatchObject({
    exit: 2,
    message: `${folder} is a folder. Name a file in it.`,
  });
});
