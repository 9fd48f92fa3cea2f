import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for the files of a test file, which is removed after its tests. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ebrc-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
