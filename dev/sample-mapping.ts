import type { Mapping, MappingRow } from '../src/domain/filing/mapping';

/** A mapping without findings; demo, tests, benches and chaos runs change the fields that they are about. */
export function mapping(changes: Partial<Mapping> = {}): Mapping {
  return {
    serialNo: 1,
    uploadType: 101,
    branchSlNo: 0,
    irmIfscCode: 'HDFC0000001',
    irmAdCode: '0510001',
    irmNumber: 'IRM2026000001',
    irmDt: '05012026',
    irmFCC: 'USD',
    irmPurposeCode: 'P0102',
    irmRemitAmtFCC: 10000,
    sbCumInvoiceNumber: '1234567',
    sbCumInvoiceDate: '03012026',
    portCode: 'INNSA1',
    billNo: 'EXP/2026/001',
    sbCumInvoiceFCC: 'USD',
    sbCumInvoiceValueinFCC: 8000,
    mappedIRMAmountFCC: 8000,
    isVostro: 'N',
    isGstAvail: 'N',
    gstinInvoiceNumber: null,
    gstinInvoiceDate: null,
    ...changes,
  };
}

/** A push message of these rows, without `platformCustomerId`. */
export const messageOf = (rows: Mapping[]) => ({
  recordResCount: rows.length,
  uploadType: String(rows[0]?.uploadType),
  decalarationFlag: 'Y' as const,
  ebrcBulkGenDtos: rows,
});

export function mappingRow(changes: Partial<Mapping> = {}, row = changes.serialNo ?? 1): MappingRow {
  return { row, mapping: mapping(changes) };
}
