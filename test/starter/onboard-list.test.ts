/** Lists of exporters: what is in a list that is wrong stays unsaid, and one bad row costs the others nothing. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../src/starter/errors';
import { onboardList, type OnboardedRow } from '../../src/starter/exporters/onboard-list';
import { testFolder } from '../support/folder';
import { ebrc } from '../support/command-line';

const HEADER = 'Name,E-mail,IEC,Company Name,address,username,password';
const ENV = {
  EBRC_API_KEY: 'dev_sandbox_key',
  DATABASE_URL: 'postgres://ebrc:hunter2@127.0.0.1:9/ebrc',
  TEMPORAL_ADDRESS: '127.0.0.1:9',
};

const folder = testFolder();

async function listWith(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** A client that takes every row, and remembers what it was given. */
function takingClient() {
  const given: { email: string; password?: string }[] = [];
  const progress = { workflowId: 'w', exporterId: 'x', state: 'started' as const, activatesAt: null, irmCount: null };
  return {
    given,
    open: () =>
      Promise.resolve({
        exporters: () => Promise.resolve([]),
        onboarding: () => Promise.resolve(null),
        onboard: ({ email, credentials }: { email: string; credentials?: { password: string } }) => {
          given.push({ email, password: credentials?.password });
          return Promise.resolve({ ...progress, message: null, errors: [], notice: null });
        },
      }),
  };
}

const outcomesIn = async (path: string) => JSON.parse(await readFile(path, 'utf8')) as OnboardedRow[];

describe('a list without its header line', () => {
  const ROWS = [
    ['Asha', 'asha@b.example', '', '', '', 'asha', 's3cret-one'],
    ['Ravi', 'ravi@b.example', '', '', '', 'ravi', 's3cret-two'],
  ];

  it.each([
    ['plain.csv', ROWS.map((row) => row.join(',')).join('\n')],
    ['half-a-header.csv', `name,${ROWS.map((row) => row.slice(1).join(',')).join('\n')}`],
  ])('is refused, and none of it is printed or written: %s', async (name, content) => {
    const path = await listWith(name, content);
    for (const json of [[], ['--json']]) {
      const result = await ebrc(['onboard', '--file', path, ...json], { env: ENV });
      expect(result.code).toBe(3);
      expect(result.stdout + result.stderr).toMatch(/header line/);
      expect(result.stdout + result.stderr + (await readFile(`${path}.result.csv`, 'utf8'))).not.toMatch(/s3cret/);
    }
  });
});

it('onboards the valid rows, and gives the reason for each other row', async () => {
  const path = await listWith(
    'mixed.csv',
    [
      HEADER,
      'Asha,asha@b.example,,,,asha, s3cret one ',
      'Bina,not-an-address,ABC,,,bina,s3cret-two',
      'Ravi,ravi@b.example,,,,ravi,',
      'Mina,mina@b.example,,,,mina,s3cret-three',
      'Mina,MINA@b.example,,,,mina,s3cret-four',
      'Slip,slip,P@ssword.example,s3cret-five',
      'Quote,q@b.example,,,,"q"x,s3cret-six',
      'Nila,nila@b.example,,,,,',
    ].join('\n'),
  );
  const client = takingClient();
  const result = join(folder, 'mixed.json');
  const { outcomes } = await onboardList(client.open, path, { by: 'meera', result });
  expect(client.given).toEqual([
    { email: 'asha@b.example', password: ' s3cret one ' },
    { email: 'mina@b.example', password: 's3cret-three' },
    { email: 'nila@b.example', password: undefined },
  ]);
  expect(outcomes.map(({ row, email, state }) => `${row} ${email} ${state}`)).toEqual([
    '2 asha@b.example started',
    '3 null refused',
    '4 ravi@b.example refused',
    '5 mina@b.example started',
    '6 MINA@b.example refused',
    '7 null refused',
    '8 null refused',
    '9 nila@b.example started',
  ]);
  const written = await readFile(result, 'utf8');
  expect(JSON.parse(written)).toEqual(outcomes);
  expect(written).toMatch(/email: is not an e-mail address; iec: is exactly 10/);
  expect(written).not.toMatch(/s3cret|P@ssword/);
});

it.each(['list.xlsx', 'list.json'])('asks for CSV instead of %s', async (name) => {
  const { code, stderr } = await ebrc(['onboard', '--file', await listWith(name, '[]')], { env: ENV });
  expect([code, stderr]).toEqual([2, expect.stringContaining('Save the list as CSV')]);
});

it('writes a private result file also when no server can be reached', async () => {
  const path = await listWith('servers.csv', `${HEADER}\nAsha,asha@b.example,,,,asha,s3cret\nBina,no-address,,,,,`);
  const result = join(folder, 'servers.json');
  const { code, stderr } = await ebrc(['onboard', '--file', path, '--result', result], { env: ENV });
  expect(code).toBe(1);
  expect(stderr).toMatch(/PostgreSQL at 127\.0\.0\.1:9/);
  expect((await outcomesIn(result)).map(({ row, state }) => `${row} ${state}`)).toEqual(['2 failed', '3 refused']);
  expect((await stat(result)).mode & 0o777).toBe(0o600);
  expect(await readFile(result, 'utf8')).not.toContain('s3cret');
});

it.each<[string, () => string, string]>([
  ['many.csv', () => `${HEADER}\n${'A,a@b.example,,,,,\n'.repeat(10_001)}`, 'too_many_rows'],
  ['torn.csv', () => `${HEADER}\n${'"\n'.repeat(10_001)}"x`, 'too_many_rows'],
  ['long.csv', () => `${HEADER}\n${'x'.repeat(9 * 1024 * 1024)}`, 'too_large'],
])('refuses a list of more exporters than any platform has: %s', async (name, content, code) => {
  const result = await ebrc(['onboard', '--file', await listWith(name, content()), '--json'], { env: ENV });
  expect([result.code, result.json<{ errors: Problem[] }>().errors[0]?.code]).toEqual([3, code]);
});

it.each(['=1+1', '\n=1+1', ' =1+1', '＝1+1', '＠SUM(A1)', '\t+1', '\u0000=1+1', '\u00ad=1', '\u200b=1'])(
  'writes what a spreadsheet would run as text: %j',
  async (message) => {
    const path = await listWith('formula.csv', `${HEADER}\nAsha,asha@b.example,,,,,`);
    const { open } = takingClient();
    const saying = async () => {
      const client = await open();
      const onboard = async (exporter: { email: string }) => ({ ...(await client.onboard(exporter)), message });
      return { ...client, onboard };
    };
    const result = join(folder, 'formula.result.csv');
    await onboardList(saying, path, { by: 'meera', result });
    expect(await readFile(result, 'utf8')).toContain(`'${message}`);
  },
);
