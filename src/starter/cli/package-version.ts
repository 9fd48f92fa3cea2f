import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The package's own version; package.json is three folders up, both in the sources and in the build. */
export function packageVersion(): string {
  const text = readFileSync(join(__dirname, '..', '..', '..', 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
