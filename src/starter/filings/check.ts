import type pg from 'pg';
import type { Mode } from '../../domain/names';
import { hasErrors, oncePerCell, warningAt, type Finding } from '../../domain/rules/finding';
import { findExporter } from '../../ledger/exporters/exporters';
import { previewFiling } from '../../ledger/filings/record';
import { withSheetHeaders, WorkbookRefused } from '../../workbook/read';
import { workbooksInProcess, type Workbooks } from '../../workbook/workbooks';
import { UsageError } from '../errors';
import { unknownExporter } from '../lookup';
import { otherExporter, readFilingFile } from './read-file';
import type { FilingFile, FilingSource, SheetColumns, StatedOptions } from './read-file';

export interface CheckRequest extends StatedOptions {
  source: FilingSource;
  exporter: string;
  /** Also make the workbook with the errors in its cells. */
  annotate?: boolean;
}

export interface CheckOutcome {
  ok: boolean;
  rows: number;
  errors: Finding[];
  warnings: Finding[];
  /** Which columns of a workbook are sent; null for a message. */
  columns: SheetColumns | null;
  /** With `annotate`; null if the file was refused as a whole, because its cells were not read. */
  annotated: Buffer | null;
}

/**
 * Checks a file by all rules, balances and earlier filings, without filing it.
 * @param ledger without its pool only the rules are checked, and a warning says so
 * @throws UsageError if it cannot be read, or for `annotate` with a message; RefusedError for an unknown exporter
 */
export async function checkFile(
  ledger: {
    pool?: pg.Pool;
    /** Default: both modes are searched for the exporter. */
    mode?: Mode;
    /** Default: in the calling thread. */
    workbooks?: Workbooks;
  },
  request: CheckRequest,
): Promise<CheckOutcome> {
  const { source, exporter, annotate = false, ...stated } = request;
  const { workbooks = workbooksInProcess } = ledger;
  const file = await readFilingFile(source, stated, ledger);
  if (annotate && file.kind === 'json') {
    throw new UsageError('-o goes with a workbook: a push message has no cells to write into.', 'no_workbook');
  }
  const all = oncePerCell([...file.findings, ...(await againstLedger(ledger, file, exporter))]);
  const findings = withSheetHeaders(all, file.columns);
  const errors = findings.filter(({ severity }) => severity === 'error');
  const warnings = findings.filter(({ severity }) => severity === 'warning');
  const annotated = annotate ? await annotatedWorkbook(workbooks, file, findings) : null;
  return { ok: errors.length === 0, rows: file.rowCount, errors, warnings, columns: file.sheet ?? null, annotated };
}

/** What the ledger would say of the rows; without a ledger, a warning instead. */
async function againstLedger(
  { pool, mode }: { pool?: pg.Pool; mode?: Mode },
  file: FilingFile,
  exporter: string,
): Promise<Finding[]> {
  if (pool === undefined) {
    const message = 'DATABASE_URL is not set: only the rules were checked, not the balances and earlier filings.';
    return [warningAt(null, null, 'no_balances', message)];
  }
  for (const candidate of mode ? [mode] : (['test', 'live'] as const)) {
    const found = await findExporter(pool, candidate, exporter);
    if (!found) continue;
    const { exporterId } = found;
    const differs = otherExporter(file, exporterId);
    if (differs) return [differs];
    const { rows, allowDuplicate } = file;
    const said = new Set(file.findings.map(({ row, code }) => `${row}/${code}`));
    const findings = await previewFiling(pool, { mode: candidate, exporterId, rows, allowDuplicate });
    // What the rules of the file said of a row is not said twice.
    return findings.filter(({ row, code }) => !said.has(`${row}/${code}`));
  }
  throw unknownExporter(exporter, mode ?? 'test or live');
}

/** The workbook with the errors in its cells; null if it was refused as a whole, because its cells were not read. */
export async function annotatedWorkbook(
  workbooks: Workbooks,
  file: FilingFile,
  findings: readonly Finding[],
): Promise<Buffer | null> {
  try {
    return await workbooks.annotate({ source: file.bytes, findings });
  } catch (error) {
    if (error instanceof WorkbookRefused && hasErrors(findings)) return null;
    throw error;
  }
}
