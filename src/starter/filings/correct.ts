import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import type { Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import { contentHashOf } from '../../ledger/filings/filing-content';
import { readRows } from '../../ledger/rows/filing-rows';
import { countCorrections, listCorrections, type FilingRecord } from '../../ledger/filings/filings';
import type { EbrcClientDependencies } from '../dependencies';
import type { RefusedError } from '../errors';
import { refusal } from '../errors';
import { readByTemplate, readFilingFile, refuseErrors, type FilingSource } from './read-file';
import type { FilingOutcome } from './outcome';
import { filingOf } from './lookup';
import { startFiling, type PreparedFiling, type WaitOptions } from './start';

export interface CorrectRequest {
  /** Filing id or reference of the filing whose errored rows are filed again. */
  filing: string;
  /** The corrected rows: the annotated workbook, or a push message. Rows are matched by serialNo. */
  source: FilingSource;
  madeBy: string;
  channel?: 'auto' | 'push' | 'bulk';
  approval?: boolean;
  /** Rows that may be filed although their mapping is live. */
  allowDuplicate?: PermittedDuplicate[];
}

/**
 * Files the errored rows of a filing again, as a new filing `file/<mode>/<reference>/<n>`. Rows of the file that are
 * certified, or still under way, are left out; the same corrected file again finds the correction that it made.
 * @throws RefusedError when the file has errors, or holds no row that waits for a correction
 */
export async function correctFiling(
  deps: EbrcClientDependencies,
  { filing: idOrReference, source, madeBy, channel, approval, allowDuplicate }: CorrectRequest,
  options: WaitOptions,
): Promise<FilingOutcome> {
  const parent = await filingOf(deps, idOrReference);
  const stated = { uploadType: parent.uploadType, declaration: parent.declaration, allowDuplicate };
  const file = await readByTemplate(deps, await readFilingFile(source, stated), stated);
  const { errored, taken, known } = await rowsOf(deps, parent);
  // Only rows that are filed have to pass: a certified row of the same workbook is ignored.
  const concerned = new Set(file.rows.filter(({ mapping }) => errored.has(mapping.serialNo)).map(({ row }) => row));
  const strangers = file.rows.filter(({ mapping }) => !known.has(mapping.serialNo)).map((row) => stranger(row, parent));
  const findings = file.findings.filter(
    ({ row }) => row === null || concerned.has(row) || file.rows.every((each) => each.row !== row),
  );
  refuseErrors([...findings, ...strangers]);
  const rows = file.rows.filter(({ mapping }) => errored.has(mapping.serialNo) || taken.has(mapping.serialNo));

  const prepared: PreparedFiling = {
    exporterId: parent.exporterId,
    rows,
    uploadType: parent.uploadType,
    declaration: parent.declaration,
    file,
    warnings: findings,
    reference: parent.reference,
    channel,
    madeBy,
    approval,
    allowDuplicate: file.allowDuplicate,
    corrects: parent.filingId,
  };
  const earlier = await earlierCorrection(deps, prepared);
  if (earlier !== null) return startFiling(deps, { ...prepared, correction: earlier }, options);

  const waiting = rows.filter(({ mapping }) => errored.has(mapping.serialNo));
  if (waiting.length === 0) throw nothingToCorrect(parent, errored.size, [...taken.values()]);
  const correction = (await countCorrections(deps.pool, deps.mode, parent.reference)) + 1;
  return startFiling(deps, { ...prepared, rows: waiting, correction }, options);
}

async function rowsOf({ pool }: EbrcClientDependencies, parent: FilingRecord) {
  const rows = await readRows(pool, parent.filingId);
  const inState = (state: string) => rows.filter((row) => row.state === state);
  return {
    known: new Set(rows.map(({ mapping }) => mapping.serialNo)),
    errored: new Set(inState('needs_correction').map(({ mapping }) => mapping.serialNo)),
    taken: new Map(inState('corrected').map(({ mapping, takenOverBy }) => [mapping.serialNo, takenOverBy])),
  };
}

/** The number of a correction of this filing that files exactly these rows; null when there is none. */
async function earlierCorrection(deps: EbrcClientDependencies, filing: PreparedFiling): Promise<number | null> {
  const contentHash = contentHashOf(filing);
  const corrections = await listCorrections(deps.pool, filing.corrects ?? '');
  return corrections.find((each) => each.contentHash === contentHash)?.correction ?? null;
}

function stranger({ row, mapping }: MappingRow, parent: FilingRecord): Finding {
  return {
    severity: 'error',
    code: 'unknown_row',
    row,
    field: 'serialNo',
    filingId: parent.filingId,
    message: `Filing ${parent.filingId} has no row with serialNo ${mapping.serialNo}. Keep the serial numbers as they were.`,
  };
}

function nothingToCorrect(parent: FilingRecord, waiting: number, takenBy: readonly (string | null)[]): RefusedError {
  if (waiting > 0) {
    return refusal(
      'nothing_to_correct',
      `The file has none of the ${waiting} rows of filing ${parent.filingId} that wait for a correction (rows are matched by serialNo).`,
      { filingId: parent.filingId },
    );
  }
  const holder = takenBy.find((each) => each !== null);
  return refusal(
    'nothing_to_correct',
    holder
      ? `The errored rows of filing ${parent.filingId} are corrected by filing ${holder} already.`
      : `Filing ${parent.filingId} (${parent.state}) has no row that waits for a correction.`,
    { filingId: holder ?? parent.filingId },
  );
}
