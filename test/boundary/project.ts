import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

/** Text of a file of the project. */
export function readProject(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The anchors of a Markdown page's headings, as GitHub makes them. */
export function anchorsOf(path: string): ReadonlySet<string> {
  const titles = [...readProject(path).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_\s-]/gu, '')
        .replace(/\s/g, '-'),
    ),
  );
}
