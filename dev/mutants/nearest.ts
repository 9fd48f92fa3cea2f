/** The tests that are nearest to a source, by the imports between them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** For each file the files that name it, by a relative path in quotes: imports, and programs that are run. */
export function namedBy(root: string): Map<string, Set<string>> {
  const named = new Map<string, Set<string>>();
  for (const folder of ['src', 'sandbox', 'test', 'dev'])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(root, folder, name);
      if (!/\.tsx?$/u.test(name)) continue;
      for (const { 1: to = '' } of readFileSync(path, 'utf8').matchAll(/'(\.{1,2}\/[^'\n]+)'/gu)) {
        const found = fileOf(join(dirname(path), to));
        if (found === null) continue;
        const key = relative(root, found);
        named.set(key, (named.get(key) ?? new Set()).add(relative(root, path)));
      }
    }
  return named;
}

function fileOf(path: string): string | null {
  const candidates = [path, `${path}.ts`, `${path}.tsx`, path.replace(/\.js$/u, '.ts'), join(path, 'index.ts')];
  return candidates.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile()) ?? null;
}

/** The test files that reach a source, the nearest first, but scenes: each of those takes a minute. */
export function nearestTests(named: ReadonlyMap<string, ReadonlySet<string>>, path: string): string[] {
  const distances = new Map([[path, 0]]);
  for (const [file, distance] of distances)
    for (const by of named.get(file) ?? []) if (!distances.has(by)) distances.set(by, distance + 1);
  return [...distances.keys()].filter((file) => file.endsWith('.test.ts') && !file.startsWith('test/scenes/'));
}
