import { authorityErrors, fieldOfAuthority, type Finding } from '../../domain/rules/finding';
import { noteAnnotated, readAnnotation, type Annotation } from '../../ledger/filings/annotation';
import { WorkbookRefused } from '../../workbook/read';
import type { Deps } from '../dependencies';

/** Writes the outcomes of a filing's rows (certificates and errors) into a copy of the workbook that it came from. */
async function annotateFiling(
  { pool, documents, workbooks, logger }: Deps,
  { filingId }: { filingId: string },
): Promise<{ document: string | null }> {
  const filing = await readAnnotation(pool, filingId);
  if (filing.sourceDocument === null) return { document: null };
  const name = `${filingId}-checked`;
  // The copy is written once: a retry after a lost answer finds it.
  let stored = await documents.find({ name, kind: 'xlsx' });
  try {
    stored ??= await documents.put({
      ...{ name, kind: 'xlsx' },
      buffer: await workbooks.of(filing.exporterId).annotate({
        source: await documents.read(filing.sourceDocument),
        findings: findingsOf(filing),
        rowOutcomes: filing.rows.map(({ row, state, eBRCNumber, eBRCDate }) => ({
          row,
          status: state,
          eBRCNumber,
          eBRCDate,
        })),
      }),
    });
  } catch (error) {
    // A retry would fail again; the ledger has the outcome, and the filing has ended.
    if (!(error instanceof WorkbookRefused)) throw error;
    logger.warn({ filingId, code: error.code }, 'the outcome could not be written into the workbook');
  }
  // An empty name: it cannot be written, and is not tried again.
  await noteAnnotated(pool, filingId, stored?.name ?? '');
  return { document: stored?.name ?? null };
}

/** For a row that was not sent because of other rows, or that the authority reports as Errored without a reason. */
const NO_REASON = 'Not filed. No error was named for this row: where other rows have one, correct those.';

/** The errors, each at the field that its code names, and warnings about the same rows, which may explain them. */
function findingsOf({ errors: recorded, warnings, rows }: Annotation): Finding[] {
  const errors = recorded.map((error) => ({ ...error, field: error.field ?? fieldOfAuthority(error.message) }));
  const freed = rows.map(({ row, state, errors: own }) => ({
    row,
    errors: (state === 'rejected' || state === 'released') && own.length === 0 ? [NO_REASON] : own,
  }));
  const byAuthority = authorityErrors(freed, errors);
  const failed = new Set([...errors, ...byAuthority].map(({ row }) => row));
  const explaining = warnings.filter(({ row }) => row !== null && failed.has(row));
  return [...errors, ...byAuthority, ...explaining];
}

export const annotateActivities = { annotateFiling };
