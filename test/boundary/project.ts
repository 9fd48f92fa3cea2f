import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

export const ROOT = join(__dirname, '..', '..');

/** Text of a file of the project. */
export function readProject(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Every TypeScript file below a folder of the project, path (with /) and text. */
export async function sourceFiles(folder: string): Promise<{ path: string; text: string }[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'));
  return Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return { path: relative(ROOT, path).split(sep).join('/'), text: await readFile(path, 'utf8') };
    }),
  );
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
