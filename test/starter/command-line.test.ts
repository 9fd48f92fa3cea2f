/** What the command line says before it asks any server, as a process of its own. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { access, writeFile, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import type { Problem } from '../../src/starter/errors';
import { testFolder } from '../support/folder';
import { cleanEnvironment, ebrc, programArguments } from '../support/command-line';
import { runProgram } from '../../src/starter/cli/program';
import { keptTerminal } from '../support/terminals';
import { useTestDatabase } from '../support/postgres';
import { text } from 'node:stream/consumers';

interface Refusal {
  errors: Problem[];
}

/** Ports below 10 are nobody's: connecting to them is refused at once. */
const NOWHERE = {
  EBRC_API_KEY: 'dev_sandbox_key',
  DATABASE_URL: 'postgres://ebrc:hunter2@127.0.0.1:9/ebrc',
  TEMPORAL_ADDRESS: '127.0.0.1:9',
};

const folder = testFolder();
const database = useTestDatabase();

async function fileWith(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** The command line in a shell's redirection or pipe. */
async function inShell(script: string): Promise<{ code: number; stderr: string }> {
  const args = ['-c', script, 'sh', process.execPath, ...programArguments('src/starter/cli.ts')];
  const child = spawn('/bin/sh', args, { env: cleanEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, stderr };
}

describe('usage', () => {
  it('lists every command under a heading, in one line of the same form, and explains each with an example', async () => {
    const { stdout } = await ebrc(['--help']);
    const [groups = ''] = stdout.split('\nExamples:');
    const commands = [...groups.matchAll(/^ {2}([a-z][a-z-]*)(?: [<[]\S+)* +(\S.*)$/gmu)].filter(
      ([, name]) => name !== 'help',
    );
    expect(commands.length).toBeGreaterThan(25);
    expect(groups).not.toContain('Commands:');
    for (const [line, name = '', summary = ''] of commands) {
      expect({ line, form: /^[a-z]/u.test(summary) }).toEqual({ line, form: true });
      const { code, stdout: help } = await ebrc([name, '--help']);
      expect({ name, wide: help.split('\n').filter((each) => each.length > 100 && !each.startsWith('  $')) }).toEqual({
        name,
        wide: [],
      });
      expect({ name, code, example: /\nExamples?:\n {2}\S/u.test(help) }).toEqual({ name, code: 0, example: true });
    }
  });

  it('breaks help at the words of a narrow terminal', async () => {
    const { terminal, written } = keptTerminal({ columns: 80 });
    expect(await runProgram(['file', '--help'], terminal)).toBe(0);
    expect(await runProgram(['--help'], terminal)).toBe(0);
    const wide = written.stdout.split('\n').filter((line) => line.length > 80 && !line.startsWith('  $'));
    expect(wide).toEqual([]);
  });

  it.each<[string, string[]]>([
    ['no command', []],
    ['an unknown command', ['fly']],
    ['an unknown option', ['list', '--bogus']],
    ['a password as an argument', ['credentials', 'a@b.example', '--username', 'u', '--password', 'secret']],
    ['a missing argument', ['show']],
    ['a missing option', ['resolve', 'F1', '--as', 'filed']],
    ['rows of an answer that is for all', 'resolve F1 --as filed --request-id R --rows 1 --note x'.split(' ')],
    ['a value that is not allowed', ['file', 'x.json', '--declaration', 'maybe']],
    ['an upload type that does not exist', ['check', 'x.json', '--exporter', 'E1', '--upload-type', 'abc']],
    ['a state that does not exist', ['list', '--state', 'lost']],
  ])('ends with 2 for %s', async (_what, args) => {
    expect((await ebrc(args)).code).toBe(2);
    const asJson = await ebrc([...args, '--json']);
    expect(asJson.code).toBe(2);
    expect(asJson.json<Refusal>().errors[0]).toMatchObject({ code: 'usage' });
  });

  it('names the help of the command that was meant, marks required options, and prints the version as JSON', async () => {
    expect((await ebrc(['--json'])).json<Refusal>().errors[0]?.message).toMatch(/^Name a command/u);
    expect((await ebrc(['findings', 'acknowledge', '7'])).stderr).toContain('`ebrc findings acknowledge --help`');
    expect((await ebrc(['resolve', '--help'])).stdout).toMatch(/--note <text> .*\(required\)/u);
    expect((await ebrc(['--version', '--json'])).json()).toEqual({ version: expect.any(String) as string });
    const help = (await ebrc(['--help', '--json'])).json<{ commands: { name: string }[] }>();
    expect(help.commands.map(({ name }) => name)).toContain('findings');
    const option = { flags: '--note <text>', required: true };
    expect((await ebrc(['resolve', '--json', '--help'])).json()).toMatchObject({
      name: 'resolve',
      arguments: [{ name: 'filing', required: false }],
      options: expect.arrayContaining([expect.objectContaining(option)]) as unknown,
    });
  });

  it('ends with one line where the output cannot be written, and quietly where its reader has enough', async () => {
    const [full, closed] = await Promise.all(['>/dev/full', '| true'].map((to) => inShell(`"$@" --help ${to}`)));
    expect(full).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^Error: the output cannot be written: ENOSPC.*\n$/u) as string,
    });
    expect(closed).toEqual({ code: 0, stderr: '' });
  });
});

describe('configuration', () => {
  it('reports what is wrong with one, and what is allowed', async () => {
    const result = await ebrc(['list'], { env: { ...NOWHERE, EBRC_API_KEY: 'key_1' } });
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/EBRC_API_KEY .*dev_ or prod_/);
    expect(result.stderr).not.toContain('key_1');
  });
});

describe('servers that cannot be reached', () => {
  it('names the database that was tried, without its password', async () => {
    const result = await ebrc(['list', '--json'], { env: NOWHERE });
    expect(result.code).toBe(1);
    const [error] = result.json<Refusal>().errors;
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(error?.message).toMatch(/PostgreSQL at 127\.0\.0\.1:9\/ebrc .*DATABASE_URL/);
    expect(result.stdout + result.stderr).not.toContain('hunter2');
  });

  it('names the Temporal server that was tried', async () => {
    const env = { ...NOWHERE, DATABASE_URL: database.url };
    const result = await ebrc(['schedules', 'list', '--json'], { env, connectWithinMs: 300 });
    expect(result.code).toBe(1);
    expect(result.json<Refusal>().errors[0]?.message).toMatch(/Temporal at 127\.0\.0\.1:9 .*TEMPORAL_ADDRESS/);
  });

  it('asks for no more than a command uses: reading needs a database and a mode alone', async () => {
    const env = { EBRC_MODE: 'live', DATABASE_URL: database.url, TEMPORAL_ADDRESS: '127.0.0.1:9' };
    for (const command of ['list', 'exporters', 'certificates']) {
      const { code, stdout } = await ebrc([command, '--json'], { env });
      expect([command, code, stdout.trim()]).toEqual([command, 0, '[]']);
    }
    const shown = await ebrc(['show', 'NO-SUCH', '--json'], { env });
    expect(shown.json<Refusal>().errors[0]).toMatchObject({ code: 'unknown_filing' });
    expect(shown.json<Refusal>().errors[0]?.message).toContain('live mode');
    const filed = await ebrc(['approve', 'NO-SUCH', '--json'], { env });
    expect(filed.json<Refusal>().errors.map(({ field }) => field)).toEqual(['EBRC_ENCRYPTION_KEY']);
    // The key of payloads alone is enough: approving opens no password.
    const payloads = { ...env, EBRC_PAYLOAD_KEY: `p:${createHash('sha256').update('drawn').digest('base64')}` };
    const approving = await ebrc(['approve', 'NO-SUCH', '--json'], { env: payloads, connectWithinMs: 200 });
    expect([approving.code, approving.stdout]).toEqual([1, expect.stringContaining('Temporal')]);
  });
});

describe('a file that cannot be filed', () => {
  it('is refused with all that is wrong at once, before any server is asked', async () => {
    const path = await fileWith('bad.json', {
      recordResCount: 2,
      uploadType: '101',
      ebrcBulkGenDtos: [{ serialNo: 1, irmDt: '31022026', sbCumInvoiceNumber: 'INV/1', isVostro: 'Yes' }],
    });
    const result = await ebrc(['file', path, '--exporter', 'a@b.example', '--json'], { env: NOWHERE });
    expect(result.code).toBe(3);
    const { errors } = result.json<Refusal>();
    const fields = errors.map(({ field }) => field);
    expect(fields).toEqual(
      expect.arrayContaining(['recordResCount', 'decalarationFlag', 'irmDt', 'sbCumInvoiceNumber', 'isVostro']),
    );
    const told = { severity: 'error', code: expect.any(String) as string, message: expect.any(String) as string };
    for (const error of errors) expect(error).toMatchObject(told);
  });

  const check = (path: string) => ebrc(['check', path, '--exporter', 'a@b.example', '--json']);

  it.each([
    ['is not JSON', 'broken.json', '{"a":', 3, 'not_json'],
    ['says something twice', 'twice.json', '[{"amount":1,"b":{"amount":2},"amoun\\u0074" :9}]', 3, 'not_json'],
    ['is not in UTF-8', 'letters.json', '{"ebrcBulkGenDtos":[{"billNo":"Caf\u00e9"}]}', 3, 'not_utf8'],
    ['is of another kind', 'letter.docx', 'x', 2, 'unknown_file_type'],
    ['is not there', 'nowhere.json', null, 2, 'no_file'],
  ])('is refused where it %s', async (_what, name, content, exit, code) => {
    const path = join(folder, name);
    if (content !== null) await writeFile(path, content, 'latin1');
    const result = await check(path);
    expect([result.code, result.json<Refusal>().errors[0]?.code]).toEqual([exit, code]);
  });

  it('is a folder, which is said', async () => {
    const [error] = (await check(folder)).json<Refusal>().errors;
    expect(error).toMatchObject({ code: 'no_file', message: `${folder}: it is a folder.` });
  });

  it('is read where Windows wrote it in UTF-16', async () => {
    const path = join(folder, 'windows.json');
    await writeFile(path, '\ufeff{"ebrcBulkGenDtos":[]}', 'utf16le');
    expect((await check(path)).json<Refusal>().errors.map(({ field }) => field)).toContain('ebrcBulkGenDtos');
  });

  it.each([
    ['is no workbook', 'list.xlsx', 'Serial No,Upload Type', 'not_a_workbook'],
    ['is a damaged .xls', 'old.xls', '\u00d0\u00cf\u0011\u00e0', 'damaged'],
    ['is an .xlsm', 'macros.xlsm', 'not a zip', 'not_a_workbook'],
    ['is an .xlsb', 'binary.xlsb', 'not a zip', 'not_a_workbook'],
  ])('that %s is refused with -o too, and nothing is written', async (_what, name, content, code) => {
    const path = join(folder, name);
    await writeFile(path, content, 'latin1');
    const output = join(folder, `checked-${name}.xlsx`);
    const result = await ebrc(['check', path, '--exporter', 'a@b.example', '-o', output, '--json']);
    expect(result.code).toBe(3);
    expect(result.json()).toMatchObject({ ok: false, rows: 0, annotated: null, errors: [{ code }] });
    await expect(access(output)).rejects.toThrow('ENOENT');
  });

  it('is checked by the rules alone, with a warning, where there is no database', async () => {
    const path = await fileWith('bad-only.json', { recordResCount: 0, uploadType: '103', ebrcBulkGenDtos: [] });
    const result = await ebrc(['check', path, '--exporter', 'a@b.example', '--declaration', 'Y', '--json']);
    expect(result.code).toBe(3);
    expect(result.json()).toMatchObject({ ok: false, rows: 0, warnings: [{ code: 'no_balances' }] });
  });
});

describe('ebrc sandbox', () => {
  it('prints its address in one line, stays up, and ends with a signal', async () => {
    const fault = { match: { irmNumber: 'IRM1', document: '7' }, every: 3 };
    const given = `push-irm:accept-then-drop,match=${JSON.stringify(fault.match)},every=3`;
    const args = ['sandbox', '--json', '--ack-delay', '5s', '--fault', given];
    const child = spawn(process.execPath, [...programArguments('src/starter/cli.ts'), ...args], {
      env: cleanEnvironment(),
    });
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { url, controlUrl } = JSON.parse(line) as { url: string; controlUrl: string };
    const refused = await fetch(`${url}/platform-customers`);
    expect(refused.status).toBe(401);
    const faults = await fetch(`${controlUrl}/faults`);
    expect(await faults.json()).toMatchObject([{ fault: { kind: 'accept-then-drop', ...fault } }]);
    const wrong = await fetch(`${controlUrl}/refuse`, { method: 'POST' });
    expect(await wrong.text()).toContain('allowed: an object');
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('refuses a fault that there is not', async () => {
    const result = await ebrc(['sandbox', '--json', '--fault', 'push-irm:explode']);
    expect(result.code).toBe(2);
    expect(result.json<Refusal>().errors[0]).toMatchObject({ code: 'bad_fault' });
  });
});

/** Every command that writes a file of the user's choice, and an ending that it takes. */
const COMMANDS: readonly [name: string, args: string[], ending: string][] = [
  ['template', ['template', 'a@b.example'], '.xlsx'],
  ['check', ['check', 'july.xlsx', '--exporter', 'a@b.example'], '.xlsx'],
  ['draft', ['draft', '--exporter', 'a@b.example', 'bills'], '.xlsx'],
  ['extract', ['extract', 'invoice', 'a.pdf'], '.json'],
  ['report', ['report', 'daily'], '.html'],
  ['evidence', ['evidence', 'JULY-2026'], '.zip'],
];

async function errorOf(args: readonly string[]): Promise<Problem & { exit: number | null }> {
  const { code, json } = await ebrc([...args, '--json']);
  return { ...json<{ errors: Problem[] }>().errors[0]!, exit: code };
}

it.each(COMMANDS)('%s leaves a file that exists as it is, unless it is forced', async (_name, args, ending) => {
  const path = join(folder, `filled-in${ending}`);
  await writeFile(path, 'an afternoon of work');
  const refused = await errorOf([...args, '-o', path]);
  expect(refused).toMatchObject({ exit: 2, code: 'file_exists' });
  expect(refused.message).toBe(`${path} exists. Name another file, or replace this one with --force.`);
  // It goes on to what comes next: no configuration, or no such file.
  expect((await errorOf([...args, '-o', path, '--force'])).code).not.toBe('file_exists');
  expect(await readFile(path, 'utf8')).toBe('an afternoon of work');
});

it.each(COMMANDS)('%s names a folder that is missing, and the endings that it writes', async (_name, args, ending) => {
  const [missing, wrong] = [join(folder, 'none', `new${ending}`), join(folder, 'new.csv')];
  expect(await errorOf([...args, '-o', missing])).toMatchObject({
    exit: 2,
    message: `There is no folder ${join(folder, 'none')}. Make it first, or name a file in another folder.`,
  });
  expect(await errorOf([...args, '-o', wrong])).toMatchObject({
    exit: 2,
    message: expect.stringContaining(ending) as string,
  });
  expect(await errorOf([...args, '-o', folder])).toMatchObject({
    exit: 2,
    message: `${folder} is a folder. Name a file in it.`,
  });
});

const REPORT = join(__dirname, '..', 'support', 'report-packages.cjs');

/** The packages that a command line has loaded when it ends. */
async function packagesOf(args: string[], env: Record<string, string> = {}): Promise<string[]> {
  const start = ['-r', REPORT, ...programArguments('src/starter/cli.ts'), ...args];
  const child = spawn(process.execPath, start, {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  return JSON.parse(await text(child.stdio[3] as NodeJS.ReadableStream)) as string[];
}

/** Each of them takes longer to load than most commands take. */
const HEAVY = ['@temporalio/client', '@temporalio/worker', 'exceljs', 'undici', 'fastify', 'node-pg-migrate', 'pdfkit'];

it('loads hardly anything for the help', async () => {
  const loaded = await packagesOf(['--help']);
  expect(loaded).toContain('commander');
  expect(loaded.filter((name) => [...HEAVY, 'zod', 'pg', '@temporalio/common'].includes(name))).toEqual([]);
});

it('loads the database driver, and nothing heavier, for a list', async () => {
  const loaded = await packagesOf(['list', '--json'], { EBRC_MODE: 'test', DATABASE_URL: database.url });
  expect(loaded).toContain('pg');
  expect(loaded.filter((name) => HEAVY.includes(name))).toEqual([]);
});
