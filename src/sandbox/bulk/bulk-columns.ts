/** The 37 columns of the bulk workbook (spec: "Bulk Excel row columns"), in the order of the template. */

type ColumnKind = 'text' | 'whole' | 'amount' | 'date' | 'yesNo';

export interface BulkColumn {
  /** JSON field name: what errors name. */
  field: string;
  header: string;
  kind: ColumnKind;
  /** Whether every row that is not blank needs a value. */
  mandatory: boolean;
}

const mandatory = (field: string, header: string, kind: ColumnKind): BulkColumn => ({
  field,
  header,
  kind,
  mandatory: true,
});
const optional = (field: string, header: string, kind: ColumnKind = 'text'): BulkColumn => ({
  field,
  header,
  kind,
  mandatory: false,
});

/**
 * The specification names 22 of the headers. The other optional ones follow the authority's public field names; their
 * contents are not documented and are accepted as they are.
 */
export const BULK_COLUMNS: readonly BulkColumn[] = [
  mandatory('serialNo', 'Serial No', 'whole'),
  mandatory('uploadType', 'Upload Type', 'whole'),
  mandatory('branchSlNo', 'Branch Sl No', 'whole'),
  mandatory('irmIfscCode', 'IRM IFSC Code', 'text'),
  mandatory('irmAdCode', 'IRM AD Code', 'text'),
  mandatory('irmNumber', 'IRM Number', 'text'),
  mandatory('irmDt', 'IRM Date', 'date'),
  mandatory('irmFCC', 'IRM FCC', 'text'),
  mandatory('irmPurposeCode', 'IRM Purpose Code', 'text'),
  mandatory('irmRemitAmtFCC', 'IRM Remit Amt FCC', 'amount'),
  mandatory('sbCumInvoiceNumber', 'SB Cum Invoice Number', 'text'),
  mandatory('sbCumInvoiceDate', 'SB Cum Invoice Date', 'date'),
  mandatory('portCode', 'Port Code', 'text'),
  mandatory('billNo', 'Bill No', 'text'),
  mandatory('sbCumInvoiceFCC', 'SB Cum Invoice FCC', 'text'),
  mandatory('sbCumInvoiceValueinFCC', 'SB Cum Invoice Value In FCC', 'amount'),
  mandatory('mappedIRMAmountFCC', 'Mapped IRM Amount FCC', 'amount'),
  mandatory('isVostro', 'Is Vostro', 'yesNo'),
  optional('vostroType', 'Vostro Type'),
  optional('mappedORMAmountFCC', 'Mapped ORM Amount FCC'),
  optional('isThirdPartyExport', 'Is Third Party Export', 'yesNo'),
  optional('commissionValDeduct', 'Commission Val Deduct'),
  optional('commissionValInfo', 'Commission Val Info'),
  optional('discountValDeduct', 'Discount Val Deduct'),
  optional('discountValInfo', 'Discount Val Info'),
  optional('insuranceValDeduct', 'Insurance Val Deduct'),
  optional('insuranceValInfo', 'Insurance Val Info'),
  optional('freightValDeduct', 'Freight Val Deduct'),
  optional('freightValInfo', 'Freight Val Info'),
  optional('otherDeductionDeduct', 'Other Deduction Deduct'),
  optional('otherdeductionsInfo', 'Other Deductions Info'),
  optional('sacCode1', 'SAC Code 1'),
  optional('sacCode2', 'SAC Code 2'),
  optional('serviceTypeModesValue', 'Service Type Modes Value'),
  mandatory('isGstAvail', 'Is GST Avail', 'yesNo'),
  optional('gstinInvoiceNumber', 'GSTIN Invoice Number'),
  optional('gstinInvoiceDate', 'GSTIN Invoice Date', 'date'),
];

export const SHEET_NAME = 'eBRC Bulk Upload';

/** Header names are matched without regard to case and punctuation. */
export function normalHeader(header: string): string {
  return header.toLowerCase().replace(/[^a-z0-9]/g, '');
}
