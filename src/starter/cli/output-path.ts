import { Option } from 'commander';
import { stat } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { UsageError } from '../errors';

export const forceOption = () => new Option('--force', 'replace a file that exists');

interface OutputPathOptions {
  /** `--force`: an existing file is replaced. */
  force?: boolean;
  /** What the name must end in, such as `.xlsx`. */
  endings: readonly string[];
}

/**
 * Checks the file of `-o` before anything is done for it. An existing file is refused: it may be a workbook that
 * somebody has filled in. Terminals, pipes and devices are written to whatever their name is.
 * @throws UsageError that says what to write instead
 */
export async function checkOutputPath(path: string, { force = false, endings }: OutputPathOptions): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) throw new UsageError(`${path} is a folder. Name a file in it.`);
  if (found && !found.isFile()) return;
  if (!endings.includes(extname(path).toLowerCase())) {
    throw new UsageError(`The name of the file must end in ${endings.join(' or ')}, unlike ${path}.`);
  }
  if (found && !force) {
    throw new UsageError(`${path} exists. Name another file, or replace this one with --force.`, 'file_exists');
  }
  const folder = dirname(path);
  if (!(await stat(folder).catch(() => null))?.isDirectory()) {
    throw new UsageError(`There is no folder ${folder}. Make it first, or name a file in another folder.`);
  }
}
