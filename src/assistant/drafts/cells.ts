import type { Mapping, MappingField } from '../../domain/filing/mapping';
import { isFilingDate } from '../../domain/dates';
import { isAmount } from '../../domain/money';
import { INVOICE_FIELDS } from '../../domain/rules/columns';
import type { OpenDocument, OpenIrm } from '../proposals/score';

/** `gap`: a person has to fill it in; `guess`: to be checked; `default`: the usual value. None: read from a source. */
export type CellMark = 'gap' | 'guess' | 'default';

export interface DraftCell {
  /** Dates are DDMMYYYY; null for a gap. */
  value: string | number | null;
  /** Where it comes from: document and field, IRM, rule or default. */
  note: string;
  mark?: CellMark;
}

export type DraftCells = Partial<Record<MappingField, DraftCell>>;

export interface DraftRow {
  cells: DraftCells;
  /** 0 to 1; null for a row without an IRM. */
  confidence: number | null;
  why: string;
  /** Other IRMs that would suit nearly as well. */
  alternatives: OpenIrm[];
  documents: string[];
}

/** What is known about a document besides its amount, with the source of each value. */
export interface DocumentFacts extends OpenDocument {
  cells: DraftCells;
  documents: string[];
}

const gap = (note: string): DraftCell => ({ value: null, note, mark: 'gap' });
const usual = (value: string | number, note: string): DraftCell => ({ value, note, mark: 'default' });

/** The cells of an IRM, from its record at the service. */
export function irmCells(irm: OpenIrm): DraftCells {
  const note = `IRM ${irm.irmNumber}, as the service has it`;
  const of = (value: string | number | null): DraftCell =>
    value === null || value === '' ? gap('The record of the IRM does not have it.') : { value, note };
  return {
    irmNumber: of(irm.irmNumber),
    irmAdCode: of(irm.irmAdCode),
    irmIfscCode: of(irm.irmIfscCode),
    irmDt: of(isFilingDate(irm.irmDt) ? irm.irmDt : null),
    irmFCC: of(irm.currency),
    irmPurposeCode: of(irm.purpose),
    irmRemitAmtFCC: of(isAmount(irm.amount) ? Number(irm.amount) : null),
  };
}

/** The columns that say which IRM it is. */
export const IRM_FIELDS = [
  ...(['irmNumber', 'irmIfscCode', 'irmAdCode', 'irmDt', 'irmFCC', 'irmPurposeCode', 'irmRemitAmtFCC'] as const),
];

const NO_IRM: DraftCells = Object.fromEntries(
  [...IRM_FIELDS, 'mappedIRMAmountFCC'].map((field) => [
    field,
    gap('No open remittance fits this document: enter one, or remove the row.'),
  ]),
);

function documentCells(document: DocumentFacts): DraftCells {
  const own = document.cells;
  const gst = own.gstinInvoiceNumber?.value && own.gstinInvoiceDate?.value;
  return {
    branchSlNo: usual(0, 'Default: 0, the head office.'),
    isVostro: usual('N', 'Default: N.'),
    isGstAvail: gst
      ? { value: 'Y', note: 'The document names a GST invoice.' }
      : usual('N', 'Default: N; no GST invoice is known.'),
    ...own,
    // With N both have to stay empty.
    ...(!gst && { gstinInvoiceNumber: undefined, gstinInvoiceDate: undefined }),
  };
}

/** What only a document states: the amount follows from it and from the IRM. */
const NEEDED = INVOICE_FIELDS.filter((field) => field !== 'mappedIRMAmountFCC');

export interface Drafted {
  irm: OpenIrm | null;
  document: DocumentFacts;
  amount: string | null;
  confidence: number | null;
  reasons: readonly string[];
  alternatives: OpenIrm[];
}

/** Below this a proposed IRM is marked as a guess. */
const SURE_CONFIDENCE = 0.8;

/** A row of the upload form, every cell with its source. */
export function draftRow(
  { irm, document, amount, confidence, reasons, alternatives }: Drafted,
  serialNo: number,
): DraftRow {
  const unsure = confidence !== null && (confidence < SURE_CONFIDENCE || alternatives.length > 0);
  const why = reasons.join('; ');
  const others = alternatives
    .map(({ irmNumber, free, currency }) => `${irmNumber} (${currency} ${free} free)`)
    .join(', ');
  const cells: DraftCells = {
    serialNo: { value: serialNo, note: 'Numbered from 1.' },
    ...documentCells(document),
    ...(irm ? irmCells(irm) : NO_IRM),
  };
  for (const field of NEEDED) cells[field] ??= gap('No document states it.');
  if (irm && amount !== null) {
    const mark = unsure ? { mark: 'guess' as const } : {};
    const choice = others === '' ? '' : ` Others would suit nearly as well; choose from the list: ${others}.`;
    cells.irmNumber = { value: irm.irmNumber, note: `Proposed: ${why}.${choice}`, ...mark };
    cells.mappedIRMAmountFCC = { value: Number(amount), note: `Proposed: ${why}.`, ...mark };
  }
  return { cells, confidence, why, alternatives, documents: document.documents };
}

/** The gaps of rows, which a person has to fill in. `row` is the Excel row. */
export function gapsOf(rows: readonly DraftRow[]): { row: number; field: keyof Mapping; reason: string }[] {
  return rows.flatMap(({ cells }, index) =>
    (Object.entries(cells) as [keyof Mapping, DraftCell | undefined][]).flatMap(([field, cell]) =>
      cell?.mark === 'gap' ? [{ row: index + 2, field, reason: cell.note }] : [],
    ),
  );
}
