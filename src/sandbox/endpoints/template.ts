import { Workbook } from 'exceljs';
import type { FastifyInstance } from 'fastify';
import { BULK_COLUMNS, SHEET_NAME } from '../bulk/bulk-columns';
import { isoOf, kolkataDate } from '../authority/calendar';
import { customerOf } from '../authority/portal-access';
import type { Answer } from '../http/problem';
import { addRoute, type Call, type Context } from '../http/route';
import { FieldErrors, requiredUuid } from './validate';
import type { SavedIrm } from '../authority/world';

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** GET /irm/bulk-template (spec: "GET /irm/bulk-template"). */
export function addTemplateRoute(app: FastifyInstance, context: Context): void {
  addRoute(app, context, { operation: 'bulk-template', method: 'GET', url: '/irm/bulk-template', handle: template });
}

async function template(call: Call): Promise<Answer> {
  const errors = new FieldErrors();
  const id = requiredUuid(call.query, 'platformCustomerId', errors);
  errors.throwIfAny();
  const customer = customerOf(call, id);
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet(SHEET_NAME);
  sheet.columns = BULK_COLUMNS.map(({ field, header }) => ({ key: field, header, width: header.length + 4 }));
  sheet.getRow(1).font = { bold: true };
  for (const [index, irm] of customer.irms.entries()) sheet.addRow(templateRow(irm, index + 1));
  return {
    kind: 'file',
    status: 200,
    contentType: XLSX,
    fileName: `ebrc-bulk-base-${isoOf(kolkataDate(call.now))}.xlsx`,
    body: Buffer.from(await workbook.xlsx.writeBuffer()),
  };
}

/** A saved IRM as a row: its serial number and IRM columns, three columns pre-set to N, the invoice columns blank. */
function templateRow({ record }: SavedIrm, serialNo: number) {
  return {
    serialNo,
    irmIfscCode: record.ifscCode,
    irmAdCode: record.remittanceAdCode,
    irmNumber: record.irmNumber,
    irmDt: record.irmIssueDate,
    irmFCC: record.remittanceFCC,
    irmPurposeCode: record.purposeOfRemittance,
    irmRemitAmtFCC: record.remittanceFCCAmount,
    isVostro: 'N',
    isThirdPartyExport: 'N',
    isGstAvail: 'N',
  };
}
