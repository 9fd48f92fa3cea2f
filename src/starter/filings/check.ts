import type pg from 'pg';
import { hasErrors, oncePerCell, warningAt, type Finding } from '../../domain/rules/finding';
import type { Mode } from '../../domain/names';
import { balanceFindings } from '../../ledger/rows/balance-reservation';
import { findExporter } from '../../ledger/exporters/exporters';
import { judgeClaims } from '../../ledger/rows/live-mappings';
import { withSheetHeaders, WorkbookRefused } from '../../workbook/read';
import { workbooksInProcess, type Workbooks } from '../../workbook/workbooks';
import { UsageError } from '../errors';
import { unknownExporter } from '../lookup';
import { otherExporter, readFilingFile } from './read-file';
import type { FilingFile, FilingSource, StatedOptions, SheetColumns } from './read-file';

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
 * Checks a file by all rules and balances, without filing it.
 * @param ledger has the balances; without its pool only the rules are checked, and a warning says so
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

/** Findings about balances and live mappings in the ledger; without a ledger, a warning instead. */
async function againstLedger(
  { pool, mode }: { pool?: pg.Pool; mode?: Mode },
  file: FilingFile,
  exporter: string,
): Promise<Finding[]> {
  if (pool === undefined) {
    const message = 'DATABASE_URL is not set: only the rules were checked, not the balances and earlier filings.';
    return [warningAt(null, null, 'no_balances', message)];
  }
  const modes: readonly Mode[] = mode ? [mode] : ['test', 'live'];
  for (const candidate of modes) {
    const found = await findExporter(pool, candidate, exporter);
    if (!found) continue;
    const differs = otherExporter(file, found.exporterId);
    if (differs) return [differs];
    const { partyId, exporterId } = found;
    const { rows, allowDuplicate: permitted } = file;
    const { findings } = await judgeClaims(pool, { partyId, rows, permitted });
    return [
      ...findings.filter((finding) => !reportedByFile(finding, file.findings)),
      ...(await balanceFindings(pool, { exporterId, rows })),
    ];
  }
  throw unknownExporter(exporter, modes.join(' or '));
}

/** Whether the rules already reported the mapping as a duplicate inside the file, so that no filing holds it. */
function reportedByFile({ row, code, filingId }: Finding, ofFile: readonly Finding[]): boolean {
  if (code !== 'mapping_live' || filingId !== undefined) return false;
  return ofFile.some((finding) => finding.code === 'duplicate_mapping' && finding.row === row);
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
