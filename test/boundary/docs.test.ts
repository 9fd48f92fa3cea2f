/** What the pages point at is there: files, sections, and the paths that they name. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, anchorsOf, readProject } from './project';

const tracked = (pattern: string) =>
  execFileSync('git', ['ls-files', '--', pattern], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
const pages = tracked('*.md');
const NAMED_PATH = /`((?:src|test|docs|ops|model|bench|chaos|scripts|dev|schemas|migrations|examples)\/[\w./-]+)`/g;

it.each(pages)('%s links to files and sections that exist', (page) => {
  const broken = [...readProject(page).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)]
    .map(([, path = '', anchor]) => ({ path: path === '' ? page : join(dirname(page), path), anchor }))
    .filter(
      ({ path, anchor }) => !existsSync(join(ROOT, path)) || (anchor !== undefined && !anchorsOf(path).has(anchor)),
    );
  expect(broken).toEqual([]);
});

it.each(pages)('%s names paths of the project that exist', (page) => {
  const named = [...readProject(page).matchAll(NAMED_PATH)].map(([, path = '']) => path);
  const found = (path: string) => ['', '.ts', '.test.ts'].some((end) => existsSync(join(ROOT, path + end)));
  expect(named.filter((path) => !found(path))).toEqual([]);
});
