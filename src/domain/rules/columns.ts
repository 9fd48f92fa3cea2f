import { type FieldKind, type MappingField, MAPPING_FIELDS } from '../filing/mapping';

/**
 * The 37 columns of the bulk workbook (spec: "Bulk Excel row columns"). The spec names 21 of them; the other 16 are the
 * authority's optional item fields, whose header labels are our assumption (docs/decisions/0007-workbook-reading.md).
 */

/**
 * Optional fields that the template has and the JSON items lack: if one is filled, the filing must use the bulk
 * channel.
 */
const EXTRA_FIELDS = {
  vostroType: 'text',
  mappedORMAmountFCC: 'amount',
  isThirdPartyExport: 'yesNo',
  commissionValDeduct: 'amount',
  commissionValInfo: 'amount',
  discountValDeduct: 'amount',
  discountValInfo: 'amount',
  insuranceValDeduct: 'amount',
  insuranceValInfo: 'amount',
  freightValDeduct: 'amount',
  freightValInfo: 'amount',
  otherDeductionDeduct: 'amount',
  otherdeductionsInfo: 'amount',
  sacCode1: 'text',
  sacCode2: 'text',
  serviceTypeModesValue: 'text',
} as const satisfies Record<string, FieldKind>;

export type ExtraField = keyof typeof EXTRA_FIELDS;
export type ColumnField = MappingField | ExtraField;

export interface BulkColumn {
  field: ColumnField;
  kind: FieldKind;
  /** The label that we write; on reading, case and punctuation are ignored. */
  header: string;
  /** mandatory: needs a value in every row. conditional: the two GSTIN columns. optional: not in the JSON items. */
  need: 'mandatory' | 'conditional' | 'optional';
  /** Other accepted spellings, already normalised. */
  aliases: readonly string[];
  /** One sentence for the person who fills the column in. */
  help: string;
}

type ColumnLine = [field: ColumnField, header: string, help: string, aliases?: string[]];

/** In the order of the template: the 19 mandatory columns, the two GSTIN columns, the rest. */
const TABLE: ColumnLine[] = [
  ['serialNo', 'Serial No', 'A different number for every row: 1, 2, 3 …'],
  [
    'uploadType',
    'Upload Type',
    '101 Direct Export, 102 Softex, 103 Service Non IT, 104 Deemed. The same in every row.',
  ],
  ['branchSlNo', 'Branch Sl No', 'Serial number of the IEC branch; 0 for the head office.'],
  ['irmIfscCode', 'IRM IFSC Code', 'IFSC of the bank branch that received the remittance, 11 characters.'],
  ['irmAdCode', 'IRM AD Code', 'The 7-digit AD code of the IRM, as text so that leading zeros stay.'],
  ['irmNumber', 'IRM Number', 'The number of the inward remittance, as the bank reported it.'],
  ['irmDt', 'IRM Date', 'Date of the IRM: a date cell or DD/MM/YYYY.'],
  ['irmFCC', 'IRM FCC', 'Currency of the IRM, three letters such as USD.'],
  ['irmPurposeCode', 'IRM Purpose Code', 'RBI purpose code of the remittance, such as P0102.'],
  ['irmRemitAmtFCC', 'IRM Remit Amt FCC', 'Amount of the remittance in its currency, digits only.'],
  [
    'sbCumInvoiceNumber',
    'SB Cum Invoice Number',
    'Direct Export: the shipping bill number, at most 7 digits. Softex: the Softex number. Services: the invoice number.',
  ],
  ['sbCumInvoiceDate', 'SB Cum Invoice Date', 'Date of that document: a date cell or DD/MM/YYYY.'],
  ['portCode', 'Port Code', 'Port code of the shipping bill, such as INNSA1.'],
  ['billNo', 'Bill No', "The exporter's own invoice reference, at most 20 characters."],
  ['sbCumInvoiceFCC', 'SB Cum Invoice FCC', 'Currency of the document, three letters.'],
  ['sbCumInvoiceValueinFCC', 'SB Cum Invoice Value In FCC', 'Value of the document in its currency, digits only.'],
  ['mappedIRMAmountFCC', 'Mapped IRM Amount FCC', 'How much of the IRM is mapped to this document, digits only.'],
  ['isVostro', 'Is Vostro', 'Y or N.'],
  ['isGstAvail', 'Is GST Avail', 'Y or N. With Y both GSTIN columns are needed, with N both stay empty.'],
  ['gstinInvoiceNumber', 'GSTIN Invoice Number', 'Number of the GST invoice; only where Is GST Avail is Y.'],
  ['gstinInvoiceDate', 'GSTIN Invoice Date', 'Date of the GST invoice; only where Is GST Avail is Y.'],
  ['vostroType', 'Vostro Type', 'SVRA or NVRA; only where Is Vostro is Y.'],
  ['mappedORMAmountFCC', 'Mapped ORM Amount FCC', 'Outward remittance mapped against this row.'],
  ['isThirdPartyExport', 'Is Third Party Export', 'Y or N.'],
  ['commissionValDeduct', 'Commission Val Deduct', 'Commission deducted.', ['commissionvaluededuct']],
  ['commissionValInfo', 'Commission Val Info', 'Commission, for information.', ['commissionvalueinfo']],
  ['discountValDeduct', 'Discount Val Deduct', 'Discount deducted.', ['discountvaluededuct']],
  ['discountValInfo', 'Discount Val Info', 'Discount, for information.', ['discountvalueinfo']],
  ['insuranceValDeduct', 'Insurance Val Deduct', 'Insurance deducted.', ['insurancevaluededuct']],
  ['insuranceValInfo', 'Insurance Val Info', 'Insurance, for information.', ['insurancevalueinfo']],
  ['freightValDeduct', 'Freight Val Deduct', 'Freight deducted.', ['freightvaluededuct']],
  ['freightValInfo', 'Freight Val Info', 'Freight, for information.', ['freightvalueinfo']],
  ['otherDeductionDeduct', 'Other Deduction Deduct', 'Other deductions, deducted.', ['otherdeductionsdeduct']],
  ['otherdeductionsInfo', 'Other Deductions Info', 'Other deductions, for information.', ['otherdeductioninfo']],
  ['sacCode1', 'SAC Code 1', 'Service accounting code, as text.'],
  ['sacCode2', 'SAC Code 2', 'A second service accounting code, as text.'],
  [
    'serviceTypeModesValue',
    'Service Type Modes Value',
    'Mode of supply of the service, 1 to 4.',
    ['servicetypemodes', 'servicetypemode'],
  ],
];

export const BULK_COLUMNS: readonly BulkColumn[] = TABLE.map(([field, header, help, aliases = []]) => ({
  field,
  header,
  help,
  aliases,
  kind: isExtraField(field) ? EXTRA_FIELDS[field] : MAPPING_FIELDS[field],
  need: isExtraField(field) ? 'optional' : field.startsWith('gstin') ? 'conditional' : 'mandatory',
}));

const BY_NAME = new Map(
  BULK_COLUMNS.flatMap((column) =>
    [normaliseHeader(column.header), normaliseHeader(column.field), ...column.aliases].map(
      (name) => [name, column] as const,
    ),
  ),
);

/** What a person fills in: a row in which all of these are empty is one of the template's that was left as it is. */
export const INVOICE_FIELDS: readonly MappingField[] = [
  'sbCumInvoiceNumber',
  'sbCumInvoiceDate',
  'portCode',
  'billNo',
  'sbCumInvoiceFCC',
  'sbCumInvoiceValueinFCC',
  'mappedIRMAmountFCC',
];

/** A header with case, punctuation and blanks removed: `SB Cum. Invoice-No` gives `sbcuminvoiceno`. */
export function normaliseHeader(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** The column that a header names, or undefined for an unknown one (which the service ignores). */
export function columnOfHeader(text: string): BulkColumn | undefined {
  return BY_NAME.get(normaliseHeader(text));
}

/** Whether a field exists in the workbook only, not in the JSON items. */
export function isExtraField(field: string): field is ExtraField {
  return Object.hasOwn(EXTRA_FIELDS, field);
}

/** The upload type codes of the push message (spec: "Push message"), by code. */
export const UPLOAD_TYPES = {
  101: 'Direct Export',
  102: 'Softex',
  103: 'Service Non IT',
  104: 'Deemed',
} as const;

/** Shipping bills: the only upload type with a rule for the form of the document number. */
export const DIRECT_EXPORT = 101;
export const SOFTEX = 102;
export const SERVICES = 103;

export type UploadType = keyof typeof UPLOAD_TYPES;

/** Whether a number is one of the four documented upload type codes. */
export function isUploadType(code: number): code is UploadType {
  return Object.hasOwn(UPLOAD_TYPES, code);
}
