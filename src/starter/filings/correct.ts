import { isDeepStrictEqual } from 'node:util';
import { errorAt, warningAt, type Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import { contentHashOf } from '../../ledger/filings/filing-inputs';
import { readRows, type FilingRow } from '../../ledger/rows/filing-rows';
import { listCorrections, needFiling, nextNumber, type FilingRecord } from '../../ledger/filings/filings';
import type { EbrcClientDependencies } from '../dependencies';
import { type RefusedError, refusal } from '../errors';
import { readFilingFile, refuseErrors, type FilingFile, type FilingSource } from './read-file';
import { readTemplateFirst } from './file';
import type { FilingOutcome } from './outcome';
import { filingOf } from '../lookup';
import { startFiling, type FilingTerms, type PreparedFiling, type WaitOptions } from './start';

export interface CorrectRequest extends Omit<FilingTerms, 'reference' | 'n'> {
  filing: string;
  /** The corrected rows, as the annotated workbook or a push message. Rows are matched by serialNo. */
  source: FilingSource;
}

/**
 * Files the errored rows of a filing again as `file/<mode>/<reference>/<n>`; its other rows are ignored. Repeating it
 * with the same file finds the correction that was made.
 * @throws RefusedError if the file has errors, or no row that waits for a correction
 */
export async function correctFiling(
  deps: EbrcClientDependencies,
  { filing: idOrReference, source, madeBy, channel, approval, allowDuplicate }: CorrectRequest,
  options: WaitOptions = {},
): Promise<FilingOutcome> {
  const parent = await filingOf(deps, idOrReference);
  const stated = { uploadType: parent.uploadType, declaration: parent.declaration, allowDuplicate };
  const read = await readFilingFile(source, stated, deps);
  const file = await readTemplateFirst(deps, parent.exporterId, { file: read, stated });
  const terms = { madeBy, channel, approval };
  // A reference names its newest filing: when the command is repeated, that is the correction which it made.
  if (parent.reference === idOrReference && parent.corrects !== null) {
    const original = await needFiling(deps.pool, parent.corrects);
    const { taken } = await rowsOf(deps, original);
    const repeated = correctionOf(original, file, terms, ({ mapping }) => taken.has(mapping.serialNo));
    if (contentHashOf(repeated) === parent.contentHash) return startFiling(deps, { ...repeated, n: parent.n }, options);
  }
  const { errored, taken, known } = await rowsOf(deps, parent);
  // Only rows that are filed must pass the checks; certified rows of the same workbook are ignored.
  const concerned = new Set(file.rows.filter(({ mapping }) => errored.has(mapping.serialNo)).map(({ row }) => row));
  const others = file.rows.filter(({ mapping }) => !known.has(mapping.serialNo));
  const unknownRows = others.length > 0 ? unknownRowFindings(others, parent, await rowsBefore(deps, parent)) : [];
  const findings = file.findings.filter(
    ({ row }) => row === null || concerned.has(row) || file.rows.every((each) => each.row !== row),
  );
  refuseErrors([...findings, ...unknownRows]);
  const prepared = {
    ...correctionOf(parent, file, terms, ({ mapping }) => errored.has(mapping.serialNo) || taken.has(mapping.serialNo)),
    warnings: findings,
  };
  const earlier = await earlierCorrection(deps, prepared);
  if (earlier !== null) return startFiling(deps, { ...prepared, n: earlier }, options);

  const waiting = prepared.rows.filter(({ mapping }) => errored.has(mapping.serialNo));
  if (waiting.length === 0) throw nothingToCorrect(parent, errored.size, [...taken.values()]);
  const n = await nextNumber(deps.pool, parent);
  const warnings = [...findings, ...unchanged(waiting, errored)];
  return startFiling(deps, { ...prepared, rows: waiting, n, warnings }, options);
}

function correctionOf(
  { filingId, exporterId, uploadType, declaration, reference }: FilingRecord,
  file: FilingFile,
  terms: Pick<PreparedFiling, 'madeBy' | 'channel' | 'approval'>,
  isCorrected: (row: MappingRow) => boolean,
): PreparedFiling {
  const { allowDuplicate } = file;
  const rows = file.rows.filter(isCorrected);
  const content = { exporterId, uploadType, declaration, rows, file, allowDuplicate };
  return { ...terms, ...content, reference, corrects: filingId, warnings: [] };
}

async function rowsOf({ pool }: EbrcClientDependencies, { filingId }: FilingRecord) {
  const rows = await readRows(pool, filingId);
  const inState = (state: string) => rows.filter((row) => row.state === state);
  return {
    filingId,
    known: new Set(rows.map(({ mapping }) => mapping.serialNo)),
    errored: new Map(inState('needs_correction').map((row) => [row.mapping.serialNo, row])),
    taken: new Map(inState('corrected').map(({ mapping, takenOverBy }) => [mapping.serialNo, takenOverBy])),
  };
}

/** The rows of every filing that this one corrects, directly or through another. */
async function rowsBefore(
  deps: EbrcClientDependencies,
  { corrects }: FilingRecord,
): Promise<Awaited<ReturnType<typeof rowsOf>>[]> {
  if (corrects === null) return [];
  const filing = await needFiling(deps.pool, corrects);
  return [await rowsOf(deps, filing), ...(await rowsBefore(deps, filing))];
}

/** The number of a correction of this filing that files exactly these rows; null if there is none. */
async function earlierCorrection(deps: EbrcClientDependencies, filing: PreparedFiling): Promise<number | null> {
  const contentHash = contentHashOf(filing);
  const corrections = await listCorrections(deps.pool, filing.corrects ?? '');
  return corrections.find((correction) => correction.contentHash === contentHash)?.n ?? null;
}

/** Reports rows that are not in the filing, except those that an earlier filing dealt with: workbooks are reused. */
function unknownRowFindings(
  rows: MappingRow[],
  { filingId }: FilingRecord,
  before: Awaited<ReturnType<typeof rowsBefore>>,
): Finding[] {
  return rows.flatMap(({ row, mapping: { serialNo } }) => {
    const waits = before.find(({ errored }) => errored.has(serialNo));
    if (!waits && before.some(({ known }) => known.has(serialNo))) return [];
    const next = waits
      ? `It waits for a correction in filing ${waits.filingId}: run \`ebrc correct ${waits.filingId} FILE\` first, or leave it out.`
      : 'Keep the serial numbers as they were.';
    const message = `Filing ${filingId} has no row with serialNo ${serialNo}. ${next}`;
    return [{ ...errorAt(row, 'serialNo', 'unknown_row', message), filingId }];
  });
}

/** Warns about unchanged rows. They are filed, because what was wrong (such as a missing IRM) may be gone. */
function unchanged(rows: readonly MappingRow[], errored: ReadonlyMap<number, FilingRow>): Finding[] {
  return rows.flatMap(({ row, mapping }) => {
    const before = errored.get(mapping.serialNo);
    if (!before || !isDeepStrictEqual({ ...before.mapping }, { ...mapping })) return [];
    const why = before.errors.length > 0 ? ` with: ${before.errors.join('; ')}` : '';
    return [warningAt(row, null, 'unchanged', `The row is as it was when it was refused${why}`)];
  });
}

function nothingToCorrect(parent: FilingRecord, waiting: number, takenBy: readonly (string | null)[]): RefusedError {
  const { filingId, state } = parent;
  const holder = waiting > 0 ? undefined : takenBy.find((filing) => filing !== null);
  const none =
    waiting > 0
      ? `The file has none of the ${waiting} rows of filing ${filingId} that wait for a correction (rows are matched by serialNo).`
      : `Filing ${filingId} (${state}) has no row that waits for a correction.`;
  const text = holder ? `The errored rows of filing ${filingId} are corrected by filing ${holder} already.` : none;
  return refusal('nothing_to_correct', text, { filingId: holder ?? filingId });
}
