import { compareFilingDates, dayNumber, isFilingDate } from '../../domain/dates';
import type { ExtractionKind } from '../extraction/contracts';
import type { DocumentField, mapDocument } from '../extraction/mapping';
import type { MappingField } from '../../domain/filing/mapping';
import { groupBy } from '../../domain/values';
import { comparableText } from '../../domain/identity';
import { compareAmounts, sumAmounts } from '../../domain/money';
import type { CellMark, DocumentFacts, DraftCell, DraftCells } from './cells';

export type ReadDocument = ReturnType<typeof mapDocument> & { file: string };

/** An invoice of a shipping bill. `guess`: they were not matched by a number. */
interface JoinedInvoice {
  invoice: ReadDocument;
  guess: boolean;
}

/** A shipping bill and its invoice are rarely further apart. */
const MAX_DAYS_APART = 60;
/** Relative difference allowed, because an invoice includes freight and insurance and a bill's FOB value does not. */
const MAX_VALUE_DIFFERENCE = 0.25;
const MAX_BILL_NO_LENGTH = 20;

/** Matches bills and invoices by number, else by currency, value and date if just one bill fits, which is a guess. */
export function joinDocuments(documents: readonly ReadDocument[]): {
  /** Shipping bills, each with its invoices. */
  bills: DocumentFacts[];
  /** Invoices without a shipping bill. */
  invoices: DocumentFacts[];
} {
  const bills = documents.filter(({ kind }) => kind === 'shipping-bill');
  const invoices = documents.filter(({ kind }) => kind === 'invoice');
  const joined = new Map<ReadDocument, JoinedInvoice[]>();
  const unmatched: ReadDocument[] = [];
  for (const invoice of invoices) {
    const named = bills.filter((bill) => namesInvoice(bill, invoice));
    const [likely, another] = named.length > 0 ? [] : bills.filter((bill) => fitsInvoice(bill, invoice));
    const bill = named[0] ?? (another ? undefined : likely);
    if (!bill) unmatched.push(invoice);
    else joined.set(bill, [...(joined.get(bill) ?? []), { invoice, guess: named.length === 0 }]);
  }
  return { bills: bills.map((bill) => billFacts(bill, joined.get(bill) ?? [])), invoices: unmatched.map(invoiceFacts) };
}

function namesInvoice({ values: bill }: ReadDocument, { values: invoice }: ReadDocument): boolean {
  const same = (a: string | undefined, b: string | undefined) => !!a && !!b && comparableText(a) === comparableText(b);
  return (
    same(bill.number, invoice.shippingBillNumber) ||
    (bill.invoiceNumbers ?? []).some((number) => same(number, invoice.number))
  );
}

function fitsInvoice({ values: bill }: ReadDocument, { values: invoice }: ReadDocument): boolean {
  // A bill that names other invoices does not belong to this one.
  if ((bill.invoiceNumbers ?? []).length > 0) return false;
  if (!bill.value || !invoice.value || !bill.currency || bill.currency !== invoice.currency) return false;
  if (!isFilingDate(bill.date) || !isFilingDate(invoice.date)) return false;
  const apart = Math.abs(dayNumber(bill.date) - dayNumber(invoice.date));
  return apart <= MAX_DAYS_APART && compareAmounts(bill.value, invoice.value) === 0;
}

const KIND_NAMES: Record<ExtractionKind, string> = { 'shipping-bill': 'Shipping bill', invoice: 'Invoice' };

/** A cell with a field of a document; undefined if the document does not have it. */
function cellOf(document: ReadDocument | undefined, field: DocumentField, mark?: CellMark): DraftCell | undefined {
  const value = document?.values[field];
  if (!document || value === undefined || Array.isArray(value)) return undefined;
  const { from } = document.explained.find((explanation) => explanation.field === field) ?? {};
  const note = `${KIND_NAMES[document.kind]} ${document.file}, ${from ?? field}`;
  const amount = field === 'value';
  return { value: amount ? Number(value) : value, note, ...(mark && { mark }) };
}

function billFacts(bill: ReadDocument, joined: readonly JoinedInvoice[]): DocumentFacts {
  const [first] = joined;
  const mark = first?.guess ? ('guess' as const) : undefined;
  const invoice = first?.invoice;
  const value = cellOf(bill, 'value') ?? invoiceSum(joined.map(({ invoice: each }) => each));
  const cells = present({
    sbCumInvoiceNumber: cellOf(bill, 'number'),
    sbCumInvoiceDate: cellOf(bill, 'date'),
    portCode: cellOf(bill, 'portCode') ?? cellOf(invoice, 'portCode', mark),
    billNo: billNoOf(bill, joined),
    sbCumInvoiceFCC: cellOf(bill, 'currency') ?? cellOf(invoice, 'currency', 'guess'),
    sbCumInvoiceValueinFCC: value && markIfContradicted(value, joined),
    gstinInvoiceNumber: cellOf(bill, 'gstInvoiceNumber') ?? cellOf(invoice, 'gstInvoiceNumber', mark),
    gstinInvoiceDate: cellOf(bill, 'gstInvoiceDate') ?? cellOf(invoice, 'gstInvoiceDate', mark),
  });
  return factsOf(cells, {
    buyer: bill.values.buyer ?? invoice?.values.buyer ?? null,
    documents: [bill.file, ...joined.map(({ invoice: each }) => each.file)],
  });
}

/** The exporter's own reference: the number of the invoice, or of the first of several. */
function billNoOf(bill: ReadDocument, joined: readonly JoinedInvoice[]): DraftCell | undefined {
  const named = [
    ...(bill.values.invoiceNumbers ?? []),
    ...joined.flatMap(({ invoice }) => invoice.values.number ?? []),
  ];
  // Grouped by comparable form, because one number spelled in two ways is one invoice.
  const numbers = [...groupBy(named, comparableText).values()].map(([first]) => first);
  const [number] = numbers;
  if (number === undefined) return undefined;
  const short = number.slice(0, MAX_BILL_NO_LENGTH);
  const source = bill.values.invoiceNumbers?.length
    ? `Shipping bill ${bill.file}`
    : `Invoice ${joined[0]?.invoice.file ?? ''}`;
  if (numbers.length > 1)
    return { value: short, note: `${source}; it has several invoices: ${numbers.join(', ')}`, mark: 'guess' };
  if (short !== number)
    return { value: short, note: `${source} says ${number}, which is longer than 20 characters`, mark: 'guess' };
  return { value: short, note: source, ...(joined[0]?.guess && { mark: 'guess' as const }) };
}

/** The sum of the invoices, for a bill without a value. */
function invoiceSum(invoices: readonly ReadDocument[]): DraftCell | undefined {
  const values = invoices.flatMap(({ values: { value } }) => value ?? []);
  if (values.length === 0 || values.length < invoices.length) return undefined;
  if (new Set(invoices.map(({ values: { currency } }) => currency)).size > 1) return undefined;
  const note = `The shipping bill has no value; this is the sum of ${invoices.map(({ file }) => file).join(', ')}`;
  return { value: Number(sumAmounts(values)), note, mark: 'guess' };
}

/** Marks a value as a guess if the invoices contradict it. */
function markIfContradicted(cell: DraftCell, joined: readonly JoinedInvoice[]): DraftCell {
  const sum = invoiceSum(joined.map(({ invoice }) => invoice))?.value;
  if (typeof sum !== 'number' || typeof cell.value !== 'number' || cell.value === 0) return cell;
  if (Math.abs(sum - cell.value) <= MAX_VALUE_DIFFERENCE * cell.value) return cell;
  return { ...cell, mark: 'guess', note: `${cell.note}. The invoices say ${sum}.` };
}

function invoiceFacts(invoice: ReadDocument): DocumentFacts {
  const number = cellOf(invoice, 'number');
  const cells = present({
    sbCumInvoiceNumber: number,
    sbCumInvoiceDate: cellOf(invoice, 'date'),
    portCode: cellOf(invoice, 'portCode'),
    billNo: number && { ...number, value: String(number.value).slice(0, MAX_BILL_NO_LENGTH) },
    sbCumInvoiceFCC: cellOf(invoice, 'currency'),
    sbCumInvoiceValueinFCC: cellOf(invoice, 'value'),
    gstinInvoiceNumber: cellOf(invoice, 'gstInvoiceNumber'),
    gstinInvoiceDate: cellOf(invoice, 'gstInvoiceDate'),
  });
  return factsOf(cells, { buyer: invoice.values.buyer ?? null, documents: [invoice.file] });
}

/** An invoice of goods without its shipping bill. The fields of the bill become gaps. */
export function withoutBill(invoice: DocumentFacts): DocumentFacts {
  const { sbCumInvoiceNumber: _number, sbCumInvoiceDate: _date, ...cells } = invoice.cells;
  const gap = (what: string): DraftCell => ({
    value: null,
    note: `The ${what} of the shipping bill: no shipping bill of this invoice was handed in.`,
    mark: 'gap',
  });
  return { ...invoice, cells: { ...cells, sbCumInvoiceNumber: gap('number'), sbCumInvoiceDate: gap('date') } };
}

function present(cells: Partial<Record<MappingField, DraftCell | undefined>>): DraftCells {
  return Object.fromEntries(Object.entries(cells).filter(([, cell]) => cell !== undefined));
}

function factsOf(
  cells: DraftCells,
  { buyer, documents }: { buyer: string | null; documents: string[] },
): DocumentFacts {
  const text = (field: MappingField) => (cells[field]?.value === undefined ? null : String(cells[field]?.value ?? ''));
  const value = text('sbCumInvoiceValueinFCC') ?? '0';
  return {
    number: text('sbCumInvoiceNumber') ?? '',
    date: text('sbCumInvoiceDate'),
    currency: text('sbCumInvoiceFCC') ?? '',
    value,
    open: value,
    uploadType: null,
    buyer,
    billNo: text('billNo'),
    cells,
    documents,
  };
}

/** Identifies a document. */
export function documentKey({ number, date }: Pick<DocumentFacts, 'number' | 'date'>): string {
  return JSON.stringify([comparableText(number), date]);
}

/** Orders documents by date. */
export function earlierFirst(a: DocumentFacts, b: DocumentFacts): number {
  return isFilingDate(a.date) && isFilingDate(b.date) ? compareFilingDates(a.date, b.date) : 0;
}
