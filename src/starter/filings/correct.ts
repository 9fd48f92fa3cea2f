import { isDeepStrictEqual } from 'node:util';
import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import { warningAt, type Finding } from '../../domain/rules/finding';
import { correctionsUnder, needFiling, type FilingRecord } from '../../ledger/filings/filing';
import { contentHashOf } from '../../ledger/filings/inputs';
import { rowsOfReference, type ReferenceRow } from '../../ledger/views/rows';
import type { EbrcClientDependencies } from '../dependencies';
import { refusal } from '../errors';
import { filingOf, isWhole } from '../lookup';
import { readTemplateFirst } from './file';
import type { FilingOutcome } from './outcome';
import { readFilingFile, refuseErrors, type FilingFile, type FilingSource } from './read-file';
import { startFiling, type FilingTerms, type PreparedFiling, type WaitOptions } from './start';

export interface CorrectRequest extends Omit<FilingTerms, 'reference'> {
  filing: string;
  /** The corrected rows, as the annotated workbook or a push message. */
  source: FilingSource;
}

/**
 * Files the freed rows of a filing again as the next one of its reference, with any content, and those whose
 * certificates were cancelled: they still hold their mappings, so a second person approves that they go again. Rows
 * whose serial numbers the reference has, and that are neither, are left out: the annotated workbook has them too.
 * Named by its reference alone, the newest filing with such rows is corrected. Repeating it finds the correction.
 * @throws RefusedError if the file has errors, or no row is free
 */
export async function correctFiling(
  deps: EbrcClientDependencies,
  { filing: name, source, ...terms }: CorrectRequest,
  options: WaitOptions = {},
): Promise<FilingOutcome> {
  const { pool } = deps;
  const named = await filingOf(deps, name);
  const whole = isWhole(named, name);
  const { uploadType, declaration, exporterId } = named;
  const stated = { uploadType, declaration, allowDuplicate: terms.allowDuplicate };
  const read = await readFilingFile(source, stated, deps);
  const file = await readTemplateFirst(deps, exporterId, { file: read, stated });
  const before = await rowsOfReference(pool, named);
  for (const made of await correctionsUnder(pool, named)) {
    if (!whole && made.corrects !== named.filingId) continue;
    const earlier = before.filter(({ n }) => n < made.n);
    const wasFree = (row: ReferenceRow) =>
      row.filingId === made.corrects && isOpen(row) && row.correctedBy === made.filingId;
    const again = { ...correctionOf(named, file, terms, earlier, wasFree), corrects: made.corrects, n: made.n };
    if (contentHashOf(again) === made.contentHash) return startFiling(deps, again, options);
  }
  const lastFree = before.findLast(isFree)?.filingId ?? named.filingId;
  const parent = whole ? await needFiling(pool, lastFree) : named;
  const ofParent = before.filter(({ filingId }) => filingId === parent.filingId);
  if (!ofParent.some(isFree)) throw nothingToCorrect(parent, ofParent);
  const mayBeFiled = (row: ReferenceRow) => row.filingId === parent.filingId && isFree(row);
  const correction = correctionOf(parent, file, terms, before, mayBeFiled);
  const filed = new Set(correction.rows.map(({ row }) => row));
  const known = new Set(file.rows.map(({ row }) => row));
  // Only rows that are filed must pass the checks, and those that could not be read.
  refuseErrors(file.findings.filter(({ row }) => row === null || filed.has(row) || !known.has(row)));
  if (correction.rows.length === 0) throw nothingToCorrect(parent, ofParent);
  const warnings = [...correction.warnings, ...unchanged(correction.rows, ofParent)];
  return startFiling(deps, { ...correction, warnings, n: (before.at(-1)?.n ?? parent.n) + 1 }, options);
}

/** Whether a correction may file a row again, if none did. */
const isOpen = ({ freed, cancelled }: ReferenceRow): boolean => freed || cancelled !== null;

const isFree = (row: ReferenceRow): boolean => isOpen(row) && row.correctedBy === null;

/** The rows of the file that are free, or new under the reference. */
function correctionOf(
  { filingId, exporterId, uploadType, declaration, reference }: FilingRecord,
  file: FilingFile,
  { madeBy, channel, approval }: Omit<CorrectRequest, 'filing' | 'source'>,
  before: readonly ReferenceRow[],
  mayBeFiled: (row: ReferenceRow) => boolean,
): PreparedFiling {
  const freeRows = before.filter(mayBeFiled);
  const free = new Set(freeRows.map(({ mapping }) => mapping.serialNo));
  const taken = new Set(before.map(({ mapping }) => mapping.serialNo).filter((serialNo) => !free.has(serialNo)));
  const rows = file.rows.filter(({ mapping }) => !taken.has(mapping.serialNo));
  const warnings = file.findings.filter(({ severity }) => severity === 'warning');
  const permitted = [...file.allowDuplicate, ...besideCancelled(rows, freeRows)];
  const content = { exporterId, uploadType, declaration, rows, file, allowDuplicate: permitted };
  return { madeBy, channel, approval, ...content, warnings, reference, corrects: filingId };
}

/** Rows whose certificates were cancelled may stand beside them; a second person approves it. */
function besideCancelled(rows: FilingFile['rows'], free: readonly ReferenceRow[]): PermittedDuplicate[] {
  return rows.flatMap(({ row, mapping }) => {
    const before = free.find((each) => each.cancelled !== null && each.mapping.serialNo === mapping.serialNo);
    if (!before) return [];
    return [{ row, besides: [before.filingId], reason: `certificate ${before.cancelled} was cancelled` }];
  });
}

/** Warns about unchanged rows. They are filed, because what was wrong (such as a missing IRM) may be gone. */
function unchanged(rows: FilingFile['rows'], before: readonly ReferenceRow[]): Finding[] {
  return rows.flatMap(({ row, mapping }) => {
    const same = before.find((each) => isFree(each) && isDeepStrictEqual({ ...each.mapping }, { ...mapping }));
    const why = same && same.errors.length > 0 ? ` with: ${same.errors.join('; ')}` : '';
    const was = same?.cancelled ? 'in its cancelled certificate' : 'when it was refused';
    return same ? [warningAt(row, null, 'unchanged', `The row is as it was ${was}${why}`)] : [];
  });
}

function nothingToCorrect({ filingId, state }: FilingRecord, rows: readonly ReferenceRow[]) {
  const waiting = rows.filter(isFree).length;
  const holder = waiting > 0 ? undefined : rows.findLast(({ correctedBy }) => correctedBy !== null)?.correctedBy;
  const none =
    waiting > 0
      ? `The file has none of the ${waiting} rows of filing ${filingId} that wait for a correction.`
      : `Filing ${filingId} (${state}) has no row that waits for a correction.`;
  const text = holder ? `The freed rows of filing ${filingId} are corrected by filing ${holder} already.` : none;
  return refusal('nothing_to_correct', text, { filingId: holder ?? filingId });
}
