import { authorityErrors, fieldOfAuthority, type Finding } from '../../domain/rules/finding';
import { readInputHead } from '../../ledger/filings/filing-inputs';
import { saveOfFiling } from '../../ledger/filings/filing-notes';
import { readRows, type FilingRow } from '../../ledger/rows/filing-rows';
import { needFiling, type FilingRecord } from '../../ledger/filings/filings';
import { WorkbookRefused } from '../../workbook/read';
import type { Deps } from '../dependencies';

/** Writes the outcomes of a filing's rows (certificates and errors) into a copy of the workbook that it came from. */
async function annotateFiling(
  { pool, documents, workbooks, logger }: Deps,
  { filingId }: { filingId: string },
): Promise<{ document: string | null }> {
  const filing = await needFiling(pool, filingId);
  const input = await readInputHead(pool, filing.inputRef);
  if (!input?.sourceDocument) return { document: null };
  const name = `${filingId}-checked`;
  // The copy is written once: a retry after a lost answer finds it.
  const existing = await documents.find({ name, kind: 'xlsx' });
  const rows = await readRows(pool, filingId);
  const annotation = {
    source: await documents.read(input.sourceDocument),
    findings: findingsOf(filing, rows),
    rowOutcomes: rows.map((row) => ({
      row: row.sourceRow,
      status: row.state,
      eBRCNumber: row.eBRCNumber,
      eBRCDate: row.eBRCDate,
    })),
  };
  let stored = existing;
  try {
    stored ??= await documents.put({
      name,
      kind: 'xlsx',
      buffer: await workbooks.of(filing.exporterId).annotate(annotation),
    });
  } catch (error) {
    // A retry would fail again; the ledger has the outcome, and the filing has ended.
    if (!(error instanceof WorkbookRefused)) throw error;
    logger.warn({ filingId, code: error.code }, 'the outcome could not be written into the workbook');
    return { document: null };
  }
  await saveOfFiling(pool, filingId, { annotated: stored.name });
  return { document: stored.name };
}

/** For a row that was not sent because of other rows, or that the authority reports as Errored without a reason. */
const NO_REASON = 'Not filed. No error was named for this row: where other rows have one, correct those.';

/** The errors, each at the field that its code names, and warnings about the same rows, which may explain them. */
function findingsOf({ errors: recorded, warnings }: FilingRecord, rows: readonly FilingRow[]): Finding[] {
  const errors = (recorded as Finding[]).map((error) => ({
    ...error,
    field: error.field ?? fieldOfAuthority(error.message),
  }));
  const byAuthority = authorityErrors(
    rows.map(({ sourceRow: row, state, errors: own }) => ({
      row,
      errors: state === 'needs_correction' && own.length === 0 ? [NO_REASON] : own,
    })),
    errors,
  );
  const failed = new Set([...errors, ...byAuthority].map(({ row }) => row));
  const explaining = (warnings as Finding[]).filter(({ row = null }) => row !== null && failed.has(row));
  return [...errors, ...byAuthority, ...explaining];
}

export const annotateActivities = { annotateFiling };
