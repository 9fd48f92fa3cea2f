/** `npm run pictures`: plays a day of an office on the sandbox, and writes what its people see to docs/pictures. */
import { Workbook, type CellValue } from 'exceljs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from '../src/starter/cli/program';
import { demoInvoice, demoMessage, type DemoIrm } from './demo-message';
import { startLocal, type Local } from './local';
import { takePagePictures } from './page-pictures';
import { takePictures } from './report-pictures';

const FOLDER = join(__dirname, '..', '.state', 'pictures');
const PICTURES = join(__dirname, '..', 'docs', 'pictures');
const KAVERI = 'accounts@kaveri.example';
const MERIDIAN = 'accounts@meridian.example';
const ZENITH = 'accounts@zenith.example';
const PORTAL: Readonly<Record<string, readonly [string, string, string]>> = {
  [KAVERI]: ['Kaveri Softworks', 'kaveri.softworks', 'Kaveri@Soft9'],
  [MERIDIAN]: ['Meridian Exports', 'meridian.exports', 'Meridian#2026'],
  [ZENITH]: ['Zenith Engineering', 'zenith.engineering', 'Zenith!Eng77'],
};
const WIDTHS = [80, 120] as const;

async function main(): Promise<void> {
  const log = (message: string) => process.stdout.write(`• ${message}\n`);
  const local = await startLocal({
    folder: FOLDER,
    keep: false,
    sandbox: { activationDelay: '1s', ackDelay: '2s' },
    log,
  });
  try {
    const scene = await play(local, log);
    await mkdir(PICTURES, { recursive: true });
    for (const width of WIDTHS) {
      const shown: string[] = [];
      for (const args of scene.commands) shown.push(`$ ebrc ${args.join(' ')}`, await printed(local, args, width), '');
      await writeFile(join(PICTURES, `terminal-${width}.txt`), inPlace(shown.join('\n')));
    }
    const books = [await cellsOf(scene.template), await cellsOf(scene.marked)];
    const titles = ['The template', 'The workbook with the authority’s answers'];
    const pages = books.map((book, index) => `=== ${titles[index]}\n\n${book}`);
    await writeFile(join(PICTURES, 'workbooks.txt'), inPlace(pages.join('\n\n')));
    const { mistaken } = scene;
    await takePagePictures({
      httpApi: local.httpApi,
      exporter: MERIDIAN,
      mistaken,
      asked: 'KVR-LOST',
      folder: PICTURES,
    });
    await takePictures({ daily: scene.daily, ageing: scene.ageing, folder: PICTURES });
    log(`written to ${PICTURES}`);
  } finally {
    await local.stop();
  }
}

async function play(local: Local, log: (message: string) => void) {
  const run = (args: string[], input?: string) => printed(local, args, null, input);
  const file = (name: string) => join(FOLDER, name);
  const control = async (method: string, path: string, body: unknown) => {
    const url = `${new URL(local.sandboxUrl).origin}/__sandbox${path}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  };
  log('onboarding three exporters, and filing for them …');
  for (const [email, [name, username, password]] of Object.entries(PORTAL)) {
    const account = ['--username', username, '--password-stdin', '--wait'];
    await run(['onboard', '--name', name, '--email', email, ...account], password);
  }
  const irms = JSON.parse(await run(['irms', KAVERI, '--json'])) as DemoIrm[];
  await writeFile(file('july.json'), JSON.stringify(demoMessage(irms)));
  await run(['file', file('july.json'), '--exporter', KAVERI, '--reference', 'KVR-JULY', '--wait']);

  const template = file('template.xlsx');
  await run(['template', MERIDIAN, '-o', template]);
  const mistaken = await fillIn(template, file('mistaken.xlsx'), { wrongAmount: true });
  const filled = await fillIn(template, file('filled.xlsx'), { wrongAmount: false });
  const july = ['--exporter', MERIDIAN, '--declaration', 'Y', '--reference', 'MER-JULY', '--wait', '--json'];
  const { annotated } = JSON.parse(await run(['file', filled, ...july])) as { annotated: string };

  log('one filing whose answer is lost; the question comes after two minutes …');
  await control('POST', '/faults', { operation: 'push-irm', kind: 'accept-then-drop' });
  await control('POST', '/faults', { operation: 'push-irm', kind: 'accepted-but-invisible', delayMs: 3_600_000 });
  await writeFile(file('lost.json'), JSON.stringify(demoInvoice(irms)));
  await run(['file', file('lost.json'), '--exporter', KAVERI, '--reference', 'KVR-LOST']);
  await control('PATCH', '/accounts/zenith.engineering', { password: 'Changed#1' });
  await run(['irms', ZENITH, '--refresh']);
  await control('POST', '/accounts/kaveri.softworks/certificates', {
    ...{ eBRCNumber: 'EARLIER0001', eBRCDate: '02112026', irmNumber: irms[0]?.irmNumber, billNo: 'KVR/2026/099' },
    ...{
      sbCumInvoiceNumber: 'KVR/2026/099',
      sbCumInvoiceDate: '15052026',
      realisedValueFCC: 500,
      currencyCode: 'USD',
      realizationDt: '03062026',
    },
  });
  const asked = async () => (JSON.parse(await run(['show', 'KVR-LOST', '--json'])) as { asked: boolean }).asked;
  while (!(await asked())) await sleep(5_000);
  await run(['reconcile', '--wait']);
  const [daily, ageing] = [file('daily.html'), file('ageing.html')];
  await run(['report', 'daily', '-o', daily]);
  await run(['report', 'ageing', '-o', ageing]);
  const commands = [
    ['list'],
    ['show', 'MER-JULY'],
    ['show', 'KVR-LOST'],
    ['check', mistaken, '--exporter', MERIDIAN],
    ['irms', KAVERI],
    ['exporters'],
    ['findings'],
    ['certificates'],
  ];
  return { commands, template, mistaken, marked: annotated, daily, ageing };
}

/** What a command prints on a terminal of this width, or through pipes (null). */
async function printed(local: Local, args: readonly string[], width: number | null, input = ''): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  let text = '';
  stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  // What is said besides a JSON document does not belong to it.
  stderr.on('data', (chunk: Buffer) => (text += args.includes('--json') ? '' : chunk.toString()));
  const screen = width === null ? {} : { isTTY: true, columns: width, hasColors: () => false };
  const streams = { stdin, stdout: Object.assign(stdout, screen), stderr: Object.assign(stderr, screen) };
  await runProgram(args, streams, { env: local.childEnv });
  return text.trimEnd();
}

/** The template with two rows filled in, one of them with a wrong AD code; the others are left as they are. */
async function fillIn(template: string, path: string, { wrongAmount }: { wrongAmount: boolean }): Promise<string> {
  const book = new Workbook();
  await book.xlsx.readFile(template);
  const [sheet] = book.worksheets;
  if (!sheet) throw new Error('The template has no sheet.');
  const headers = Array.from(sheet.getRow(1).values as (string | undefined)[]);
  const columns = new Map(headers.map((name, index) => [name, index]));
  const fill = (row: number, cells: Record<string, CellValue>) => {
    for (const [name, value] of Object.entries(cells)) sheet.getRow(row).getCell(columns.get(name) ?? 0).value = value;
  };
  const document = { 'Upload Type': 101, 'Branch Sl No': 0, 'Port Code': 'INNSA1', 'SB Cum Invoice FCC': 'USD' };
  const dated = { ...document, 'SB Cum Invoice Date': new Date('2026-05-02'), 'SB Cum Invoice Value In FCC': 60_000 };
  fill(2, { ...dated, 'SB Cum Invoice Number': '1234567', 'Bill No': 'EXP/26/041', 'Mapped IRM Amount FCC': 60_000 });
  const mapped = { 'IRM AD Code': '0510061', 'Mapped IRM Amount FCC': wrongAmount ? 99_000 : 60_000 };
  fill(3, { ...dated, 'SB Cum Invoice Number': '1234568', 'Bill No': 'EXP/26/042', ...mapped });
  await book.xlsx.writeFile(path);
  return path;
}

/** Every filled cell of a workbook as text, with its comment. */
async function cellsOf(path: string): Promise<string> {
  const book = new Workbook();
  await book.xlsx.readFile(path);
  return book.worksheets
    .map((sheet) => {
      const lines: string[] = [`--- sheet ${sheet.name}`];
      sheet.eachRow((row, number) => {
        const cells: string[] = [];
        row.eachCell((cell) => {
          const note = cell.note === undefined ? '' : ` [note: ${noteText(cell.note)}]`;
          const text = cell.value instanceof Date ? cell.value.toISOString().slice(0, 10) : cell.text;
          cells.push(`${cell.address} ${text.replaceAll('\n', ' / ')}${note}`);
        });
        lines.push(`${number}: ${cells.join(' | ')}`);
      });
      return lines.join('\n');
    })
    .join('\n\n');
}

function noteText(note: string | { texts?: { text: string }[] }): string {
  const text = typeof note === 'string' ? note : (note.texts ?? []).map((part) => part.text).join('');
  return text.replaceAll('\n', ' ');
}

/** Paths of this machine do not belong into a picture. */
const inPlace = (text: string): string => `${text.replaceAll(FOLDER, '/srv/ebrc').trimEnd()}\n`;

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
