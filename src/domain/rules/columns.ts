import { FIELD_NAMES, MAPPING_FIELDS, NULLABLE_FIELDS, type FieldKind, type MappingField } from '../filing/mapping';

/** The 37 workbook columns (spec: "Bulk Excel row columns"); 16 labels are assumed (decision record 0007). */

export type ColumnField = MappingField | (typeof EXTRA_COLUMNS)[number][0];

export interface BulkColumn {
  field: ColumnField;
  kind: FieldKind;
  header: string;
  /** `mandatory`: a value in every row. `conditional`: the two GSTIN columns. `optional`: not in the JSON items. */
  need: 'mandatory' | 'conditional' | 'optional';
  /** Other accepted spellings, already normalised. */
  aliases: readonly string[];
  /** One sentence for the person who fills the column in. */
  help: string;
}

/** Header and help of the columns that JSON items have too; they come first in the template. */
const ITEM_COLUMNS: Readonly<Record<MappingField, readonly [header: string, help: string]>> = {
  serialNo: ['Serial No', 'A different number for every row: 1, 2, 3 …'],
  uploadType: ['Upload Type', '101 Direct Export, 102 Softex, 103 Service Non IT, 104 Deemed. The same in every row.'],
  branchSlNo: [
    'Branch Sl No',
    'Serial number of the branch in the list of branches on your IEC; 0 for the head office, and if you have one office.',
  ],
  irmIfscCode: ['IRM IFSC Code', 'IFSC of the bank branch that received the remittance, 11 characters.'],
  irmAdCode: ['IRM AD Code', 'The 7-digit AD code of the IRM, as text so that leading zeros stay.'],
  irmNumber: ['IRM Number', 'The number of the inward remittance, as the bank reported it.'],
  irmDt: ['IRM Date', 'Date of the IRM: a date cell or DD/MM/YYYY.'],
  irmFCC: ['IRM FCC', 'Currency of the IRM, three letters such as USD.'],
  irmPurposeCode: ['IRM Purpose Code', 'RBI purpose code of the remittance, such as P0102.'],
  irmRemitAmtFCC: ['IRM Remit Amt FCC', 'Amount of the remittance in its currency, digits only.'],
  sbCumInvoiceNumber: [
    'SB Cum Invoice Number',
    'Direct Export: the shipping bill number, at most 7 digits. Softex: the Softex number. Services: the invoice number.',
  ],
  sbCumInvoiceDate: ['SB Cum Invoice Date', 'Date of that document: a date cell or DD/MM/YYYY.'],
  portCode: [
    'Port Code',
    'Port code of the shipping bill, such as INNSA1. Other types need one too; the specification does not say which: write that of earlier filings, or ask the service.',
  ],
  billNo: ['Bill No', "The exporter's own invoice reference, at most 20 characters."],
  sbCumInvoiceFCC: ['SB Cum Invoice FCC', 'Currency of the document, three letters.'],
  sbCumInvoiceValueinFCC: ['SB Cum Invoice Value In FCC', 'Value of the document in its currency, digits only.'],
  mappedIRMAmountFCC: ['Mapped IRM Amount FCC', 'How much of the IRM is mapped to this document, digits only.'],
  isVostro: ['Is Vostro', 'Y or N.'],
  isGstAvail: ['Is GST Avail', 'Y or N. With Y both GSTIN columns are needed, with N both stay empty.'],
  gstinInvoiceNumber: ['GSTIN Invoice Number', 'Number of the GST invoice; only where Is GST Avail is Y.'],
  gstinInvoiceDate: ['GSTIN Invoice Date', 'Date of the GST invoice; only where Is GST Avail is Y.'],
};

/** Columns that JSON items lack; a filled one forces the bulk channel. Aliases are already normalised. */
const EXTRA_COLUMNS = [
  ['vostroType', 'text', 'Vostro Type', 'SVRA or NVRA; only where Is Vostro is Y.'],
  ['mappedORMAmountFCC', 'amount', 'Mapped ORM Amount FCC', 'Outward remittance mapped against this row.'],
  ['isThirdPartyExport', 'yesNo', 'Is Third Party Export', 'Y or N.'],
  ['commissionValDeduct', 'amount', 'Commission Val Deduct', 'Commission deducted.', 'commissionvaluededuct'],
  ['commissionValInfo', 'amount', 'Commission Val Info', 'Commission, for information.', 'commissionvalueinfo'],
  ['discountValDeduct', 'amount', 'Discount Val Deduct', 'Discount deducted.', 'discountvaluededuct'],
  ['discountValInfo', 'amount', 'Discount Val Info', 'Discount, for information.', 'discountvalueinfo'],
  ['insuranceValDeduct', 'amount', 'Insurance Val Deduct', 'Insurance deducted.', 'insurancevaluededuct'],
  ['insuranceValInfo', 'amount', 'Insurance Val Info', 'Insurance, for information.', 'insurancevalueinfo'],
  ['freightValDeduct', 'amount', 'Freight Val Deduct', 'Freight deducted.', 'freightvaluededuct'],
  ['freightValInfo', 'amount', 'Freight Val Info', 'Freight, for information.', 'freightvalueinfo'],
  ['otherDeductionDeduct', 'amount', 'Other Deduction Deduct', 'Other deductions, deducted.', 'otherdeductionsdeduct'],
  [
    'otherdeductionsInfo',
    'amount',
    'Other Deductions Info',
    'Other deductions, for information.',
    'otherdeductioninfo',
  ],
  ['sacCode1', 'text', 'SAC Code 1', 'Service accounting code, as text.'],
  ['sacCode2', 'text', 'SAC Code 2', 'A second service accounting code, as text.'],
  [
    'serviceTypeModesValue',
    'text',
    'Service Type Modes Value',
    'Mode of supply of the service, 1 to 4.',
    'servicetypemodes',
    'servicetypemode',
  ],
] as const satisfies readonly [field: string, kind: FieldKind, header: string, help: string, ...aliases: string[]][];

const EXTRA_FIELDS: ReadonlySet<string> = new Set(EXTRA_COLUMNS.map(([field]) => field));

export const BULK_COLUMNS: readonly BulkColumn[] = [
  ...FIELD_NAMES.map((field): BulkColumn => {
    const [header, help] = ITEM_COLUMNS[field];
    const need = NULLABLE_FIELDS.has(field) ? 'conditional' : 'mandatory';
    return { field, kind: MAPPING_FIELDS[field], header, help, aliases: [], need };
  }),
  ...EXTRA_COLUMNS.map(([field, kind, header, help, ...aliases]): BulkColumn => ({
    field,
    kind,
    header,
    help,
    aliases,
    need: 'optional',
  })),
];

const BY_NAME = new Map(
  BULK_COLUMNS.flatMap((column) =>
    [normaliseHeader(column.header), normaliseHeader(column.field), ...column.aliases].map(
      (name) => [name, column] as const,
    ),
  ),
);

/** Fields that a person fills in; a row without any of them is an unused row of the template. */
export const INVOICE_FIELDS: readonly MappingField[] = [
  'sbCumInvoiceNumber',
  'sbCumInvoiceDate',
  'portCode',
  'billNo',
  'sbCumInvoiceFCC',
  'sbCumInvoiceValueinFCC',
  'mappedIRMAmountFCC',
];

/** A header in lower case without punctuation and blanks: `SB Cum. Invoice-No` gives `sbcuminvoiceno`. */
export function normaliseHeader(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** The column that a header names, or undefined for an unknown one (which the service ignores). */
export function columnOfHeader(text: string): BulkColumn | undefined {
  return BY_NAME.get(normaliseHeader(text));
}

/** The header of a field; any other text, or null, unchanged. */
export function headerOf(field: string | null | undefined): string | null {
  return BULK_COLUMNS.find((column) => column.field === field)?.header ?? field ?? null;
}

/** Whether a field exists in the workbook only, not in the JSON items. */
export function isExtraField(field: string): field is Exclude<ColumnField, MappingField> {
  return EXTRA_FIELDS.has(field);
}

/** The upload type codes of the push message (spec: "Push message"), by code. */
export const UPLOAD_TYPES = {
  101: 'Direct Export',
  102: 'Softex',
  103: 'Service Non IT',
  104: 'Deemed',
} as const;

/** The only upload type with a rule for the form of the document number (shipping bills). */
export const DIRECT_EXPORT = 101;
export const SOFTEX = 102;
export const SERVICES = 103;

export type UploadType = keyof typeof UPLOAD_TYPES;

/** Whether a number is one of the four documented upload type codes. */
export function isUploadType(code: number): code is UploadType {
  return Object.hasOwn(UPLOAD_TYPES, code);
}

/** The code of an upload type by its name, such as `Softex`, `102 - Softex` or `Direct`; undefined for a code alone. */
export function uploadTypeNamed(text: string): UploadType | undefined {
  const name = normaliseHeader(text).replace(/\d/g, '');
  if (name.length < 4) return undefined;
  const found = Object.entries(UPLOAD_TYPES).find(([, known]) => {
    const whole = normaliseHeader(known);
    return whole.startsWith(name) || name.startsWith(whole);
  });
  return found && (Number(found[0]) as UploadType);
}

/** Header labels in order. The spec shows 22 of 37; the service's template has all ("GET /irm/bulk-template"). */
export interface BulkTemplate {
  labels: readonly string[];
  /** When the service's template was read, ISO 8601; null while the labels are our assumption. */
  learnedAt: string | null;
}

/** The labels until the service's template was read. */
export const BUILT_IN_TEMPLATE: BulkTemplate = {
  labels: BULK_COLUMNS.map(({ header }) => header),
  learnedAt: null,
};

/** Whether the specification names the column, so that its meaning is known and a template must have it. */
export function isNamed({ need, field }: BulkColumn): boolean {
  return need !== 'optional' || field === 'isThirdPartyExport';
}

/** Why a list of labels cannot be the template of the bulk upload; null if it can. */
export function templateProblem(labels: readonly string[]): string | null {
  const names = labels.map(normaliseHeader);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `two columns are called ${twice}`;
  const fields = new Set(labels.map((label) => columnOfHeader(label)?.field));
  const lacking = BULK_COLUMNS.filter((column) => isNamed(column) && !fields.has(column.field)).map(
    ({ header }) => header,
  );
  return lacking.length === 0 ? null : `it lacks ${lacking.join(', ')}`;
}

/** The label of an optional column; undefined for a user's own. Before the template is known, aliases count too. */
export function optionalLabel({ labels, learnedAt }: BulkTemplate, header: string): string | undefined {
  const name = normaliseHeader(header);
  if (name === '') return undefined;
  const label = labels.find((known) => normaliseHeader(known) === name);
  return label ?? (learnedAt === null ? columnOfHeader(header)?.header : undefined);
}
