import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const make = () => mkdtempSync(join(tmpdir(), 'ebrc-test-'));
// Tried again: what a test has stopped may still write into it.
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });

/** A folder for the files of a test file, which is removed after its tests. */
export function testFolder(): string {
  const folder = make();
  afterAll(() => remove(folder));
  return folder;
}

/** A folder of its own for each test of a file. `made` gets it before the test. */
export function useFolder(made: (folder: string) => void): void {
  let folder: string;
  beforeEach(() => made((folder = make())));
  afterEach(() => remove(folder));
}
