import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Workbook } from 'exceljs';
import { BULK_COLUMNS } from '../src/domain/rules/columns';
import type { MappingRow } from '../src/domain/filing/mapping';
import { annotateWorkbook } from '../src/workbook/annotate';
import { checkWorkbook } from '../src/workbook/check';
import { createWorkbookThreads } from '../src/workbook/workbooks';
import { writeBulkWorkbook } from '../src/workbook/write';
import { mapping } from '../dev/sample-mapping';

/**
 * What reading, checking and annotating cost beside a bare exceljs load (and save) of the same file, as medians of
 * rounds in one process, in turn, so that the machine's mood meets all of them alike; and the memory that a 5 MB
 * workbook takes, in a process of its own.
 *
 * Run through `npm run bench`.
 */
const ROUNDS = 15;
const WARM_UP = 3;
/** Columns of the large workbook beyond the 37. */
const FURTHER_COLUMNS = 170;
const LIMITS = { check: 1.3, annotate: 2, memoryMb: 240 };

/** Two hundred failing cells. */
const FINDINGS = Array.from({ length: 200 }, (_, index) => ({
  severity: 'error' as const,
  code: 'example',
  row: 2 + index * 4,
  field: BULK_COLUMNS[index % 19]?.field ?? null,
  message: 'Required field is missing: fill it in.',
}));

const arrayBuffer = (file: Buffer): ArrayBuffer => Uint8Array.from(file).buffer;
const load = (file: Buffer) => new Workbook().xlsx.load(arrayBuffer(file));

async function main(): Promise<void> {
  if (process.argv[2] === 'memory') return measureMemory(process.argv[3] ?? '');
  const file = await fullWorkbook();
  const { errors, warnings } = await checkWorkbook(file);
  const jobs: Record<string, () => Promise<unknown>> = {
    load: () => load(file),
    check: () => checkWorkbook(file),
    'load and save': async () => (await load(file)).xlsx.writeBuffer(),
    annotate: () => annotateWorkbook({ source: file, findings: FINDINGS }),
  };
  const times = await rounds(jobs);
  const ratio = (of: string, to: string) => (times[of] ?? NaN) / (times[to] ?? NaN);
  console.log(
    `999 x 37 cells, ${file.length} bytes, ${errors.length} errors, ${warnings.length} warnings; medians of ${ROUNDS} rounds`,
  );
  for (const [name, milliseconds] of Object.entries(times))
    console.log(`${name.padEnd(14)} ${milliseconds.toFixed(0)} ms`);
  const check = ratio('check', 'load');
  const annotate = ratio('annotate', 'load and save');
  const large = join(await mkdtemp(join(tmpdir(), 'ebrc-bench-')), 'large.xlsx');
  await writeFile(large, await largeWorkbook());
  const { size } = await stat(large);
  const memory = memoryOf(large);
  await rm(large);
  console.log(`read and check / bare load         ${check.toFixed(2)} (at most ${LIMITS.check})`);
  console.log(`annotate / bare load and save      ${annotate.toFixed(2)} (at most ${LIMITS.annotate})`);
  console.log(
    `peak memory, ${(size / 1024 / 1024).toFixed(1)} MB workbook       ${memory} MB (at most ${LIMITS.memoryMb})`,
  );
  if (check > LIMITS.check || annotate > LIMITS.annotate || memory > LIMITS.memoryMb) process.exitCode = 1;
}

async function rounds(jobs: Record<string, () => Promise<unknown>>): Promise<Record<string, number>> {
  const samples = new Map<string, number[]>(Object.keys(jobs).map((name) => [name, []]));
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    for (const [name, job] of Object.entries(jobs)) {
      const start = performance.now();
      await job();
      if (round >= WARM_UP) samples.get(name)?.push(performance.now() - start);
    }
  }
  return Object.fromEntries(
    [...samples].map(([name, values]) => [name, values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN]),
  );
}

/** Every one of the 37 columns filled in 999 rows that are right. */
function fullWorkbook(): Promise<Buffer> {
  return writeBulkWorkbook(
    Array.from({ length: 999 }, (_, index): MappingRow => ({
      row: index + 2,
      mapping: mapping({
        serialNo: index + 1,
        irmNumber: `IRM2026${String(index).padStart(6, '0')}`,
        irmRemitAmtFCC: 10000 + index,
        sbCumInvoiceNumber: String(1000000 + index),
        billNo: `EXP/2026/${index}`,
        sbCumInvoiceValueinFCC: 10000 + index,
        mappedIRMAmountFCC: 8000.25 + index,
        isGstAvail: 'Y',
        gstinInvoiceNumber: `GST/${index}`,
        gstinInvoiceDate: '04012026',
      }),
      extra: Object.fromEntries(
        BULK_COLUMNS.filter(({ need }) => need === 'optional').map(({ header, kind }) => [
          header,
          kind === 'amount' ? '12.5' : kind === 'yesNo' ? 'Y' : 'text',
        ]),
      ),
    })),
  );
}

/** As large as a file may be and still honest: the rows above beside many further columns of text that packs badly. */
async function largeWorkbook(): Promise<Buffer> {
  const workbook = await load(await fullWorkbook());
  const sheet = workbook.worksheets[0];
  for (let row = 1; row <= 1000; row += 1) {
    for (let column = 38; column < 38 + FURTHER_COLUMNS; column += 1) {
      if (sheet) sheet.getCell(row, column).value = randomBytes(18).toString('base64');
    }
  }
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

/** Peak memory in MB of a process that annotates the file at `path` as a worker does: in a thread. */
async function measureMemory(path: string): Promise<void> {
  const threads = createWorkbookThreads();
  await threads.annotate({ source: await readFile(path), findings: FINDINGS });
  await threads.close();
  console.log(Math.round(process.resourceUsage().maxRSS / 1024));
}

function memoryOf(path: string): number {
  const [, script = ''] = process.argv;
  return Number(execFileSync(process.execPath, [...process.execArgv, script, 'memory', path]).toString());
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
