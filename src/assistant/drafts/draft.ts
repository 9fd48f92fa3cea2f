import { draftRow, gapsOf, type DocumentFacts, type FittingIrm, type OpenIrm } from './cells';
import { documentKey, earlierFirst, joinDocuments, withoutBill } from './join';
import type { ExtractionMapping } from '../extraction/mapping';
import type { MappingField } from '../../domain/filing/mapping';
import { subtractAmounts, BANK_CHARGES } from '../../domain/money';
import { DIRECT_EXPORT, SERVICES, UPLOAD_TYPES, type UploadType } from '../../domain/rules/columns';
import { MAX_FILING_ROWS } from '../../domain/service/limits';
import { needExporter, type Company } from '../../ledger/exporters/exporters';
import { ledgerDocuments } from '../../ledger/reports/documents';
import { checkedDraft } from './draft-workbook';
import type { EbrcClientDependencies } from '../../starter/dependencies';
import { RefusedError } from '../../starter/errors';
import { exporterIdOf } from '../../starter/lookup';
import type { ExtractWait } from '../extraction/extract';
import { readDocuments, type DraftFile } from './read-documents';
import { isFilingDate } from '../../domain/dates';
import { isCancelled } from '../../domain/rules/preflight';
import { listIrms } from '../../ledger/exporters/irms';
import type { Queryable } from '../../ledger/pool';
import { irmViews } from '../../starter/exporters/views';

export interface DraftOutcome {
  workbook: Buffer;
  uploadType: UploadType;
  rows: number;
  /** What a person has to fill in or correct; `row` is the Excel row. */
  gaps: { row: number; field: string; reason: string }[];
  files: DraftFile[];
  /** Whether the workbook passes `ebrc check` unchanged. */
  ok: boolean;
  notes: string[];
}

/** Drafts a filing from bills, invoices and free balances, as a workbook to edit and file. @throws RefusedError */
export async function draftFiling(
  deps: EbrcClientDependencies,
  args: {
    /** Id or e-mail. */
    exporter: string;
    /** PDF files, and folders with PDFs. */
    paths: readonly string[];
    /** Default: 101 if there are shipping bills, 103 if there are only invoices. */
    uploadType?: UploadType;
    mapping?: ExtractionMapping;
  },
  wait: ExtractWait = {},
): Promise<DraftOutcome> {
  const { exporter, paths, uploadType: asked, mapping = {} } = args;
  const { pool, mode } = deps;
  const exporterId = await exporterIdOf(pool, mode, exporter);
  const company = await needExporter(pool, exporterId);
  const { documents, files } = await readDocuments(deps, { paths, mapping, iec: company.iec }, wait);
  const joined = joinDocuments(documents);
  const { type, facts, notes, out: leftOut } = chooseType(joined, asked);
  for (const { document, why } of leftOut) omitDocument(files, document, why);
  const { open, settled } = await openAmounts(deps, company, facts);
  for (const document of settled) omitDocument(files, document, 'its whole value is mapped already');
  const fitting = fitIrms(await openIrms(pool, exporterId), open);
  const all = open.flatMap((document, index) => {
    const irm = fitting[index];
    return irm ? [draftRow(document, irm, index + 1)] : [];
  });
  const rows = all.slice(0, MAX_FILING_ROWS);
  if (rows.length === 0) {
    const message = ['There is nothing to draft: none of these documents can be used.', ...notes].join(' ');
    throw new RefusedError([{ code: 'nothing_to_draft', message }], { files });
  }
  if (all.length > rows.length)
    notes.push(`${all.length - rows.length} rows do not fit into one workbook; draft again after filing these.`);
  const title = `Draft for ${exporter}, upload type ${type}. Nothing is filed until you file it.`;
  const { workbook, ok, errors } = await checkedDraft(deps, { exporter, name: 'draft.xlsx' }, { rows, title });
  const gaps = withErrors(gapsOf(rows), errors);
  return { workbook, uploadType: type, rows: rows.length, gaps, files, ok, notes };
}

/** Chooses the filing's upload type. Documents that need another type are reported and left out. */
function chooseType(joined: ReturnType<typeof joinDocuments>, asked: UploadType | undefined) {
  const selected = selectDocuments(joined, asked);
  const { type, cell } = selected;
  const typeCell = { value: type, ...cell };
  const typed = selected.facts.map((fact) => ({
    ...fact,
    uploadType: type,
    cells: { ...fact.cells, uploadType: typeCell },
  }));
  return { ...selected, facts: typed.sort(earlierFirst) };
}

function selectDocuments(
  { bills, invoices }: ReturnType<typeof joinDocuments>,
  asked: UploadType | undefined,
): {
  type: UploadType;
  facts: DocumentFacts[];
  notes: string[];
  out: { document: DocumentFacts; why: string }[];
  /** Note and mark of the cell `uploadType`. */
  cell: { note: string; mark?: 'guess' };
} {
  if (asked === DIRECT_EXPORT || asked === 104) {
    const facts = [...bills, ...invoices.map(withoutBill)];
    return { type: asked, cell: REQUESTED_TYPE, facts, out: [], notes: [] };
  }
  if (asked === undefined && bills.length > 0) {
    const why = 'no shipping bill belongs to it; --upload-type says what it is';
    const note = `Rule: shipping bills are filed as ${DIRECT_EXPORT} ${UPLOAD_TYPES[DIRECT_EXPORT]}.`;
    const notes = [
      `${invoices.length} invoices belong to no shipping bill: --upload-type 103 drafts them as services, --upload-type 101 as goods with gaps.`,
    ];
    return {
      type: DIRECT_EXPORT,
      cell: { note },
      facts: bills,
      out: invoices.map((document) => ({ document, why })),
      notes: invoices.length > 0 ? notes : [],
    };
  }
  const type = asked ?? SERVICES;
  const note = `Rule: invoices without shipping bills are filed as ${SERVICES}; --upload-type says otherwise.`;
  return {
    type,
    cell: asked === undefined ? { note, mark: 'guess' } : REQUESTED_TYPE,
    facts: invoices,
    out: bills.map((document) => ({ document, why: `upload type ${type} has no shipping bills` })),
    notes: bills.length > 0 ? [`${bills.length} shipping bills are left out: --upload-type 101 drafts them.`] : [],
  };
}

const REQUESTED_TYPE = { note: 'As asked for.' };

function omitDocument(files: DraftFile[], { documents }: DocumentFacts, why: string): void {
  for (const file of files) {
    if (documents.includes(file.file)) file.error ??= { code: 'left_out', message: `It is not in the draft: ${why}.` };
  }
}

/** The open amount of each document: its value minus held rows and certificates. */
async function openAmounts({ pool }: EbrcClientDependencies, company: Company, facts: readonly DocumentFacts[]) {
  const known = new Map((await ledgerDocuments(pool, company)).map((document) => [documentKey(document), document]));
  const open: DocumentFacts[] = [];
  const settled: DocumentFacts[] = [];
  for (const each of facts) {
    const before = known.get(documentKey(each));
    const taken = before ? subtractAmounts(before.value, before.open) : '0';
    // A PDF without a value has a gap there, and is open as far as the ledger knows.
    const left = before && Number(each.value) === 0 ? before.open : subtractAmounts(each.value, taken);
    if (Number(taken) > 0 && Number(left) <= 0) settled.push(each);
    else open.push({ ...each, open: left });
  }
  return { open, settled };
}

/** The gaps and all other errors of the check. */
function withErrors(
  gaps: DraftOutcome['gaps'],
  errors: readonly { row: number | null; field: string | null; message: string }[],
) {
  const known = new Set(gaps.map(({ row, field }) => `${row} ${field}`));
  const more = errors.flatMap(({ row, field, message }) =>
    row !== null && field !== null && !known.has(`${row} ${field}`)
      ? [{ row, field: field as MappingField, reason: message }]
      : [],
  );
  return [...gaps, ...more].sort((a, b) => a.row - b.row);
}

/** An exporter's IRMs that have a free balance. */
export async function openIrms(db: Queryable, exporterId: string): Promise<OpenIrm[]> {
  const rows = await listIrms(db, exporterId);
  const views = await irmViews(db, exporterId, rows);
  return views.flatMap((irm): OpenIrm[] => {
    const { currency, free, irmIssueDate, remittanceDate } = irm;
    if (isCancelled(irm) || currency === null || free === null || Number(free) <= 0) return [];
    const { irmNumber, irmAdCode, irmIfscCode, purposeCode, amount } = irm;
    const irmDt = isFilingDate(irmIssueDate) ? irmIssueDate : (remittanceDate ?? irmIssueDate);
    return [{ irmNumber, irmAdCode, irmIfscCode, irmDt, currency, purpose: purposeCode ?? '', amount, free }];
  });
}

const MOST_ALTERNATIVES = 5;
const NONE: FittingIrm = { irm: null, amount: null, sure: false, why: 'no open remittance fits it', alternatives: [] };

/**
 * Gives each document, in the order given, a remittance of its currency: one whose free balance is its open amount, or
 * short of it by bank charges, or else the smallest that covers it.
 */
export function fitIrms(irms: readonly OpenIrm[], documents: readonly DocumentFacts[]): FittingIrm[] {
  const free = new Map(irms.map((irm) => [irm, irm.free]));
  return documents.map((document) => {
    const open = Number(document.open);
    const over = (irm: OpenIrm) => Number(free.get(irm)) - open;
    const rank = (irm: OpenIrm) => (over(irm) === 0 ? 0 : over(irm) < 0 ? 1 : 2);
    const fits = irms
      .filter((irm) => irm.currency === document.currency && Number(free.get(irm)) > 0)
      .filter((irm) => open > 0 && over(irm) >= -open * BANK_CHARGES)
      .sort((a, b) => rank(a) - rank(b) || over(a) - over(b));
    const [irm, ...others] = fits;
    if (!irm) return NONE;
    const left = free.get(irm) ?? '0';
    const amount = over(irm) < 0 ? left : document.open;
    const why = WHY[rank(irm)] ?? '';
    const sure = rank(irm) === 0 && (others[0] === undefined || rank(others[0]) > 0);
    free.set(irm, subtractAmounts(left, amount));
    return { irm, amount, sure, why, alternatives: others.slice(0, MOST_ALTERNATIVES) };
  });
}

const WHY = [
  'the amounts agree',
  'the remittance is short of it by what banks charge',
  'it is the smallest balance that covers it',
];
