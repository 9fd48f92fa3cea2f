import { randomUUID } from 'node:crypto';
import { Decimal } from 'decimal.js';
import { dayNumber, isoOf, kolkataDate } from '../authority/calendar';
import { effectOf } from '../faults/faults';
import { customerOf, logInAtPortal, namedCustomer } from '../authority/portal-access';
import { json, type Answer } from '../http/problem';
import type { Call, Route } from '../http/route';
import { FieldErrors, pageOf, paging, requiredUuid } from './validate';
import { irmKey, type Customer, type PortalAccount, type SavedIrm } from '../authority/world';
import { Workbook } from 'exceljs';
import { BULK_COLUMNS, SHEET_NAME } from '../bulk/bulk-sheet';

/** The saved IRMs and the template that names them (spec: "Endpoints", "GET /irm/bulk-template"). */
export const IRM_ROUTES: readonly Route[] = [
  { operation: 'refresh-irms', method: 'POST', url: '/irm/refresh', handle: refresh },
  { operation: 'list-irms', method: 'GET', url: '/irm', handle: list },
  { operation: 'bulk-template', method: 'GET', url: '/irm/bulk-template', handle: template },
];

/** Copies the portal's IRMs into the saved ones. Undocumented: id from body or query, answered as GET /irm. */
function refresh(call: Call) {
  const customer = namedCustomer(call, call.body['platformCustomerId'] === undefined ? call.query : call.body);
  const account = logInAtPortal(call, customer);
  if (!effectOf(call.effects, 'stale-balance')) save(customer, account, call.now);
  const records = customer.irms.map((saved) => irmRecord(saved, customer, account));
  return json(pageOf(records, { page: 1, limit: Math.max(records.length, 1) }));
}

function list(call: Call) {
  const { query } = call;
  const errors = new FieldErrors();
  const id = requiredUuid(query, 'platformCustomerId', errors);
  const window = paging(query, errors);
  const from = isoDay(query, 'fromDate', errors) ?? Number.NEGATIVE_INFINITY;
  const to = isoDay(query, 'toDate', errors) ?? Number.POSITIVE_INFINITY;
  errors.throwIfAny();
  const customer = customerOf(call, id);
  const account = call.context.world.accounts.find(({ username }) => username === customer.dgftUsername);
  const found = customer.irms.filter(({ record }) => {
    const issued = dayNumber(record.irmIssueDate) ?? 0;
    return issued >= from && issued <= to && (query['irmNumber'] ?? record.irmNumber) === record.irmNumber;
  });
  const page = pageOf(found, window);
  return json({ ...page, data: page.data.map((saved) => irmRecord(saved, customer, account)) });
}

/** Upserts by the whole key; the saved copy keeps the balance of this moment. */
function save(customer: Customer, account: PortalAccount, now: number): void {
  for (const irm of account.irms) {
    const known = customer.irms.find(({ record }) => irmKey(record) === irmKey(irm));
    if (known) Object.assign(known, { record: { ...irm }, updatedAt: now });
    else customer.irms.push({ id: randomUUID(), createdAt: now, updatedAt: now, record: { ...irm } });
  }
}

/** A saved IRM in the documented shape (spec: "Saved IRM record"). */
function irmRecord(
  { id, record, createdAt, updatedAt }: SavedIrm,
  customer: Customer,
  account: PortalAccount | undefined,
) {
  const { available, ...irm } = record;
  return {
    id,
    ...irm,
    irmAvailableAmt: Number(available),
    irmUtilizedAmt: new Decimal(irm.remittanceFCCAmount).minus(available).toNumber(),
    iecCode: account?.iec ?? customer.iec,
    panNumber: account?.panNumber ?? null,
    subjectType: 'USER',
    userId: customer.id,
    platformCustomerId: customer.id,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}

function isoDay(query: Record<string, unknown>, field: string, errors: FieldErrors): number | null {
  const value = query[field];
  if (value === undefined) return null;
  const match = typeof value === 'string' ? /^(\d{4})-(\d{2})-(\d{2})(?:T.*)?$/.exec(value) : null;
  const day = match ? dayNumber(`${match[3]}${match[2]}${match[1]}`) : null;
  if (day === null) errors.add(field, `${field} must be a valid ISO 8601 date string`);
  return day;
}

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

async function template(call: Call): Promise<Answer> {
  const customer = namedCustomer(call, call.query);
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
