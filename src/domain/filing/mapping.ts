/** What kind of value a field of {@link Mapping} holds. */
export type FieldKind = 'integer' | 'amount' | 'text' | 'date' | 'yesNo';

/** The fields in the order of the spec's item table. Type, rules, workbook columns and schemas derive from them. */
export const MAPPING_FIELDS = {
  serialNo: 'integer',
  uploadType: 'integer',
  branchSlNo: 'integer',
  irmIfscCode: 'text',
  irmAdCode: 'text',
  irmNumber: 'text',
  irmDt: 'date',
  irmFCC: 'text',
  irmPurposeCode: 'text',
  irmRemitAmtFCC: 'amount',
  sbCumInvoiceNumber: 'text',
  sbCumInvoiceDate: 'date',
  portCode: 'text',
  billNo: 'text',
  sbCumInvoiceFCC: 'text',
  sbCumInvoiceValueinFCC: 'amount',
  mappedIRMAmountFCC: 'amount',
  isVostro: 'yesNo',
  isGstAvail: 'yesNo',
  gstinInvoiceNumber: 'text',
  gstinInvoiceDate: 'date',
} as const satisfies Record<string, FieldKind>;

export type MappingField = keyof typeof MAPPING_FIELDS;
export const FIELD_NAMES = Object.keys(MAPPING_FIELDS) as MappingField[];

/** Fields that are null if the row has no GST invoice; all others need a value in every row. */
const NULLABLE = ['gstinInvoiceNumber', 'gstinInvoiceDate'] as const;
export const NULLABLE_FIELDS: ReadonlySet<MappingField> = new Set(NULLABLE);

/** One item of `ebrcBulkGenDtos` (spec: "Push message"). Dates are DDMMYYYY, amounts have at most two decimals. */
export type Mapping = {
  [Field in MappingField]:
    | ((typeof MAPPING_FIELDS)[Field] extends 'integer' | 'amount' ? number : string)
    | (Field extends (typeof NULLABLE)[number] ? null : never);
};

/**
 * A submitted mapping. `row` identifies it in findings: the Excel row (header is 1), or the `serialNo` of a message.
 * `extra`: filled workbook columns that JSON items lack, by label; such a row needs the bulk channel.
 */
export interface MappingRow {
  row: number;
  mapping: Mapping;
  extra?: ExtraValues;
}

/** Values of optional columns, typed as their cells; dates are DDMMYYYY. */
export type ExtraValues = Record<string, string | number | boolean | { date: string }>;

/** The JSON submission of POST /genebrc/push-irm. `decalarationFlag` is spelled as the authority specifies. */
export interface PushMessage {
  platformCustomerId: string;
  recordResCount: number;
  uploadType: string;
  decalarationFlag: 'Y' | 'N';
  ebrcBulkGenDtos: Mapping[];
}

/** The push message for rows of a filing, each with its serial number within the submission. */
export function pushMessageOf(
  { exporterId, uploadType, declaration }: { exporterId: string; uploadType: number; declaration: 'Y' | 'N' },
  rows: readonly { serialNo: number; mapping: Mapping }[],
): PushMessage {
  return {
    platformCustomerId: exporterId,
    recordResCount: rows.length,
    uploadType: String(uploadType),
    decalarationFlag: declaration,
    ebrcBulkGenDtos: rows.map(({ serialNo, mapping }) => ({ ...mapping, serialNo })),
  };
}

/** The authority's wording is not in the specification; this is what self-certification means. */
export const DECLARATION = [
  'The declaration (decalarationFlag) is the exporter’s own statement to the authority. Y declares that the rows are true and',
  'complete, that each remittance was received for the document of its row, and that nothing of it is certified already. N does',
  'not, and is usually rejected. The wording stands at the authority’s portal: read it there, the exporter answers for it.',
];
