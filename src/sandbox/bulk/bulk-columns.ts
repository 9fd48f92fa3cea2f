/** The 37 columns of the bulk workbook (spec: "Bulk Excel row columns"), in the order of the template. */
import { GST_FIELDS, ITEM_FIELDS } from '../endpoints/push-message';

export interface BulkColumn {
  /** JSON field name: what errors name. */
  field: string;
  header: string;
  kind: 'text' | 'whole' | 'amount' | 'date' | 'yesNo';
  /** Whether every row that is not blank needs a value. */
  mandatory: boolean;
}

/** The specification names 22; the others follow the authority's public names, with undocumented contents. */
const HEADERS = {
  serialNo: 'Serial No',
  uploadType: 'Upload Type',
  branchSlNo: 'Branch Sl No',
  irmIfscCode: 'IRM IFSC Code',
  irmAdCode: 'IRM AD Code',
  irmNumber: 'IRM Number',
  irmDt: 'IRM Date',
  irmFCC: 'IRM FCC',
  irmPurposeCode: 'IRM Purpose Code',
  irmRemitAmtFCC: 'IRM Remit Amt FCC',
  sbCumInvoiceNumber: 'SB Cum Invoice Number',
  sbCumInvoiceDate: 'SB Cum Invoice Date',
  portCode: 'Port Code',
  billNo: 'Bill No',
  sbCumInvoiceFCC: 'SB Cum Invoice FCC',
  sbCumInvoiceValueinFCC: 'SB Cum Invoice Value In FCC',
  mappedIRMAmountFCC: 'Mapped IRM Amount FCC',
  isVostro: 'Is Vostro',
  vostroType: 'Vostro Type',
  mappedORMAmountFCC: 'Mapped ORM Amount FCC',
  isThirdPartyExport: 'Is Third Party Export',
  commissionValDeduct: 'Commission Val Deduct',
  commissionValInfo: 'Commission Val Info',
  discountValDeduct: 'Discount Val Deduct',
  discountValInfo: 'Discount Val Info',
  insuranceValDeduct: 'Insurance Val Deduct',
  insuranceValInfo: 'Insurance Val Info',
  freightValDeduct: 'Freight Val Deduct',
  freightValInfo: 'Freight Val Info',
  otherDeductionDeduct: 'Other Deduction Deduct',
  otherdeductionsInfo: 'Other Deductions Info',
  sacCode1: 'SAC Code 1',
  sacCode2: 'SAC Code 2',
  serviceTypeModesValue: 'Service Type Modes Value',
  isGstAvail: 'Is GST Avail',
  gstinInvoiceNumber: 'GSTIN Invoice Number',
  gstinInvoiceDate: 'GSTIN Invoice Date',
};

const KINDS: Partial<Record<string, BulkColumn['kind']>> = {
  ...ITEM_FIELDS,
  ...GST_FIELDS,
  isThirdPartyExport: 'yesNo',
};

export const BULK_COLUMNS = Object.entries(HEADERS).map(([field, header]): BulkColumn => {
  return { field, header, kind: KINDS[field] ?? 'text', mandatory: field in ITEM_FIELDS };
});

export const SHEET_NAME = 'eBRC Bulk Upload';

/** Header names are matched without regard to case and punctuation. */
export function normalHeader(header: string): string {
  return header.toLowerCase().replace(/[^a-z0-9]/g, '');
}
