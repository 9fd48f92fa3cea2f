/** `ebrc keys init`: the secrets of an installation. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ebrc } from '../support/command-line';
import { testFolder } from '../support/folder';

const folder = join(testFolder(), 'secrets');
const FROM_OTHERS = ['DATABASE_URL', 'DATABASE_URL_SERVE', 'DATABASE_URL_OWNER', 'EBRC_API_KEY'];
const FILES = ['EBRC_ENCRYPTION_KEY', 'EBRC_PAYLOAD_KEY', ...FROM_OTHERS];
const init = async () => {
  const { code, json, stdout, stderr } = await ebrc(['keys', 'init', '--out', folder, '--json']);
  return { code, made: json<{ file: string; written: string }[]>(), printed: stdout + stderr };
};
const contents = () => Promise.all(FILES.map((name) => readFile(join(folder, name), 'utf8')));

it('makes keys that belong together, names the rest, and never touches what is there', async () => {
  const { code, made, printed } = await init();
  expect([code, made.map(({ file, written }) => [file, written])]).toEqual([
    0,
    FILES.map((name, nth) => [join(folder, name), nth < 2 ? 'made' : 'empty']),
  ]);
  const [encryption = '', payload = ''] = (await contents()).map((text) => text.trim());
  expect(printed).not.toContain(encryption.slice(4));
  const { json } = await ebrc(['keys', 'payload', '--json'], { env: { EBRC_ENCRYPTION_KEY: encryption } });
  expect(json()).toEqual({ payloadKey: payload });
  expect((await stat(folder)).mode & 0o777).toBe(0o700);

  await writeFile(join(folder, 'DATABASE_URL'), 'postgres://mine');
  const before = await contents();
  expect((await init()).made.map(({ written }) => written)).toEqual(FILES.map(() => 'kept'));
  expect(await contents()).toEqual(before);
});
