import type { Mapping, MappingField } from '../../domain/filing/mapping';
import { isFilingDate, type FilingDate } from '../../domain/dates';
import { isAmount } from '../../domain/money';
import { INVOICE_FIELDS } from '../../domain/rules/columns';

/** `gap`: a person has to fill it in; `guess`: to be checked; `default`: the usual value. None: read from a source. */
export type CellMark = 'gap' | 'guess' | 'default';

export interface DraftCell {
  /** Dates are DDMMYYYY; null for a gap. */
  value: string | number | null;
  /** The source: document and field, IRM, rule or default. */
  note: string;
  mark?: CellMark;
}

export type DraftCells = Partial<Record<MappingField, DraftCell>>;

/** An IRM with a free balance. */
export interface OpenIrm {
  irmNumber: string;
  irmAdCode: string;
  irmIfscCode: string;
  /** DDMMYYYY, or the record's text. */
  irmDt: string;
  currency: string;
  purpose: string;
  /** Amount of the whole remittance; null if it is not known. */
  amount: string | null;
  /** The available balance minus the holds of our filings. */
  free: string;
}

/** The IRM that a document's row takes. */
export interface FittingIrm {
  /** Null: none of its currency covers it. */
  irm: OpenIrm | null;
  amount: string | null;
  /** No other IRM fits as well. */
  sure: boolean;
  why: string;
  alternatives: OpenIrm[];
}

export interface DraftRow {
  cells: DraftCells;
  /** Why it takes this IRM, or none. */
  why: string;
  /** Other IRMs that cover it. */
  alternatives: OpenIrm[];
  documents: string[];
}

/** What is known of a document, with the source of each value. */
export interface DocumentFacts {
  /** As in sbCumInvoiceNumber. */
  number: string;
  /** Null if it is not known. */
  date: FilingDate | null;
  currency: string;
  value: string;
  /** The part of the value that is not mapped. */
  open: string;
  uploadType: number | null;
  buyer: string | null;
  /** The exporter's own invoice number, if it differs. */
  billNo: string | null;
  cells: DraftCells;
  documents: string[];
}

const gap = (note: string): DraftCell => ({ value: null, note, mark: 'gap' });
const defaultCell = (value: string | number, note: string): DraftCell => ({ value, note, mark: 'default' });

/** An IRM's cells, from the service's record. */
export function irmCells(irm: OpenIrm): DraftCells {
  const note = `IRM ${irm.irmNumber}, as the service has it`;
  const cellOf = (value: string | number | null): DraftCell =>
    value === null || value === '' ? gap('The record of the IRM does not have it.') : { value, note };
  return {
    irmNumber: cellOf(irm.irmNumber),
    irmAdCode: cellOf(irm.irmAdCode),
    irmIfscCode: cellOf(irm.irmIfscCode),
    irmDt: cellOf(isFilingDate(irm.irmDt) ? irm.irmDt : null),
    irmFCC: cellOf(irm.currency),
    irmPurposeCode: cellOf(irm.purpose),
    irmRemitAmtFCC: cellOf(isAmount(irm.amount) ? Number(irm.amount) : null),
  };
}

/** Columns that identify the IRM. */
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
  const stated = document.cells;
  const gst = stated.gstinInvoiceNumber?.value && stated.gstinInvoiceDate?.value;
  return {
    branchSlNo: defaultCell(0, 'Default: 0, the head office.'),
    isVostro: defaultCell('N', 'Default: N.'),
    isGstAvail: gst
      ? { value: 'Y', note: 'The document names a GST invoice.' }
      : defaultCell('N', 'Default: N; no GST invoice is known.'),
    ...stated,
    // With N both GST columns must be empty.
    ...(!gst && { gstinInvoiceNumber: undefined, gstinInvoiceDate: undefined }),
  };
}

/** Fields that only a document states. The mapped amount follows from the document and the IRM. */
const STATED_BY_DOCUMENT = INVOICE_FIELDS.filter((field) => field !== 'mappedIRMAmountFCC');

/** A row of the upload form, each cell with its source. */
export function draftRow(document: DocumentFacts, fitting: FittingIrm, serialNo: number): DraftRow {
  const { irm, amount, sure, why, alternatives } = fitting;
  const others = alternatives
    .map(({ irmNumber, free, currency }) => `${irmNumber} (${currency} ${free} free)`)
    .join(', ');
  const cells: DraftCells = {
    serialNo: { value: serialNo, note: 'Numbered from 1.' },
    ...documentCells(document),
    ...(irm ? irmCells(irm) : NO_IRM),
  };
  for (const field of STATED_BY_DOCUMENT) cells[field] ??= gap('No document states it.');
  if (irm && amount !== null) {
    const mark = sure ? {} : { mark: 'guess' as const };
    const choice = others === '' ? '' : ` Others cover it too; choose from the list: ${others}.`;
    cells.irmNumber = { value: irm.irmNumber, note: `Chosen because ${why}.${choice}`, ...mark };
    cells.mappedIRMAmountFCC = { value: Number(amount), note: `Chosen because ${why}.`, ...mark };
  }
  return { cells, why, alternatives, documents: document.documents };
}

/** The cells that a person has to fill in. `row` is the Excel row. */
export function gapsOf(rows: readonly DraftRow[]): { row: number; field: keyof Mapping; reason: string }[] {
  return rows.flatMap(({ cells }, index) =>
    (Object.entries(cells) as [keyof Mapping, DraftCell | undefined][]).flatMap(([field, cell]) =>
      cell?.mark === 'gap' ? [{ row: index + 2, field, reason: cell.note }] : [],
    ),
  );
}
