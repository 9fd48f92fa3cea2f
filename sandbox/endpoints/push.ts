import {
  DIRECT_EXPORT,
  ITEM_FIELDS,
  NOT_A_SHIPPING_BILL,
  UPLOAD_TYPES,
  isShippingBillNumber,
  itemOf,
  type PushItem,
} from './push-message';
import { Decimal } from 'decimal.js';
import { isDdmmyyyy } from '../authority/calendar';
import { FieldErrors, asObject, oneOf, requiredDate, requiredText, requiredUuid } from './validate';
import { acceptFiling } from './filings';
import { customerOf, logInAtPortal } from '../authority/portal-access';
import { json } from '../http/problem';
import type { Call, Route } from '../http/route';
import { namesIrm, type Customer } from '../authority/world';

const YES_NO = ['Y', 'N'] as const;
const fieldsOf = (...kinds: string[]) =>
  Object.entries(ITEM_FIELDS).flatMap(([field, kind]) => (kinds.includes(kind) ? [field] : []));
const TEXTS = fieldsOf('text');
const AMOUNTS = fieldsOf('amount');
const WHOLE_NUMBERS = ['serialNo', 'branchSlNo'] as const;

/**
 * Reads a push message (spec: "Push message (JSON submission)", Rules), ignoring other properties.
 * @throws Problem 400 with a text for each wrong field, as `ebrcBulkGenDtos.<index>.<field>`
 */
function readPushMessage(body: Record<string, unknown>): { platformCustomerId: string; items: PushItem[] } {
  const errors = new FieldErrors();
  const platformCustomerId = requiredUuid(body, 'platformCustomerId', errors);
  const uploadType = oneOf(body, 'uploadType', UPLOAD_TYPES, errors);
  oneOf(body, 'decalarationFlag', YES_NO, errors);
  const dtos: unknown = body['ebrcBulkGenDtos'];
  const count = body['recordResCount'];
  if (!Array.isArray(dtos) || dtos.length === 0) {
    errors.add('ebrcBulkGenDtos', 'ebrcBulkGenDtos must be an array with at least one entry');
  }
  const entries = Array.isArray(dtos) ? (dtos as unknown[]) : [];
  if (!Number.isInteger(count)) errors.add('recordResCount', 'recordResCount must be an integer number');
  else if (count !== entries.length) {
    const message = `recordResCount must equal the number of entries in ebrcBulkGenDtos (${entries.length})`;
    errors.add('recordResCount', message);
  }
  const items = entries.map((entry, index) => readItem(asObject(entry), index, uploadType, errors));
  errors.throwIfAny();
  return { platformCustomerId, items };
}

function readItem(raw: Record<string, unknown>, index: number, uploadType: string, errors: FieldErrors): PushItem {
  const at = (field: string): string => `ebrcBulkGenDtos.${index}.${field}`;
  const directExport = uploadType === DIRECT_EXPORT || raw['uploadType'] === Number(DIRECT_EXPORT);
  // Reported before the plain form of the field, so that the answer names the shipping bill rule.
  const document = raw['sbCumInvoiceNumber'];
  if (directExport && typeof document === 'string' && document.trim() !== '' && !isShippingBillNumber(document)) {
    errors.add(at('sbCumInvoiceNumber'), NOT_A_SHIPPING_BILL);
  }
  for (const field of TEXTS) requiredText(raw, field, errors, at(field));
  for (const field of WHOLE_NUMBERS) {
    if (!Number.isInteger(raw[field])) errors.add(at(field), `${field} must be an integer number`);
  }
  for (const field of AMOUNTS) {
    const value = raw[field];
    if (typeof value !== 'number' || !Number.isFinite(value)) errors.add(at(field), `${field} must be a number`);
    else if (value < 0) errors.add(at(field), `${field} must not be less than 0`);
  }
  if (!UPLOAD_TYPES.some((code) => Number(code) === raw['uploadType'])) {
    errors.add(at('uploadType'), `uploadType must be one of the following values: ${UPLOAD_TYPES.join(', ')}`);
  }
  for (const field of fieldsOf('date')) requiredDate(raw, field, errors, at(field));
  for (const field of fieldsOf('yesNo')) oneOf(raw, field, YES_NO, errors, at(field));
  checkGst(raw, errors, at);
  return itemOf((field) => raw[field]);
}

/** When isGstAvail is Y both GST fields are mandatory; when N both must be null (a field left out counts as null). */
function checkGst(raw: Record<string, unknown>, errors: FieldErrors, at: (field: string) => string): void {
  const number = raw['gstinInvoiceNumber'] ?? null;
  const date = raw['gstinInvoiceDate'] ?? null;
  if (raw['isGstAvail'] === 'Y') {
    if (typeof number !== 'string' || number.trim() === '') {
      errors.add(at('gstinInvoiceNumber'), 'gstinInvoiceNumber is mandatory when isGstAvail is Y');
    }
    if (typeof date !== 'string' || !isDdmmyyyy(date)) {
      errors.add(at('gstinInvoiceDate'), 'gstinInvoiceDate is mandatory in DDMMYYYY format when isGstAvail is Y');
    }
  } else if (raw['isGstAvail'] === 'N') {
    if (number !== null) errors.add(at('gstinInvoiceNumber'), 'gstinInvoiceNumber must be null when isGstAvail is N');
    if (date !== null) errors.add(at('gstinInvoiceDate'), 'gstinInvoiceDate must be null when isGstAvail is N');
  }
}

/** POST /genebrc/push-irm (spec: "POST /genebrc/push-irm"). */
export const PUSH_ROUTE: Route = {
  operation: 'push-irm',
  method: 'POST',
  url: '/genebrc/push-irm',
  facts: (call) => {
    const items = Array.isArray(call.body['ebrcBulkGenDtos']) ? call.body['ebrcBulkGenDtos'].map(asObject) : [];
    return {
      platformCustomerId: String(call.body['platformCustomerId']),
      irmNumbers: items.map((item) => String(item['irmNumber'])),
      documents: items.map((item) => String(item['sbCumInvoiceNumber'])),
    };
  },
  handle: push,
};

function push(call: Call) {
  const { platformCustomerId, items } = readPushMessage(call.body);
  const customer = customerOf(call, platformCustomerId);
  const account = logInAtPortal(call, customer);
  const observations = items.flatMap((item) => observe(item, customer));
  const acknowledgement = acceptFiling(call, 'push-irm', { customer, account, items });
  // The specification mentions such a list without naming its field.
  return json(observations.length > 0 ? { ...acknowledgement, observations } : acknowledgement);
}

/** Disagreements of an accepted row with the held IRM record; they refuse nothing. */
function observe(item: PushItem, customer: Customer): string[] {
  const held = customer.irms.find(({ record }) => namesIrm(item, record));
  const about = `Row ${item.serialNo}: `;
  if (!held) return [`${about}no held IRM record for ${item.irmNumber}`];
  const { record } = held;
  const observations: string[] = [];
  if (record.remittanceFCC !== item.irmFCC) observations.push(`${about}irmFCC differs from the held IRM record`);
  if (record.ifscCode !== item.irmIfscCode) observations.push(`${about}irmIfscCode differs from the held IRM record`);
  if (new Decimal(record.available).lessThan(item.mappedIRMAmountFCC)) {
    observations.push(`${about}mappedIRMAmountFCC is more than the held available amount`);
  }
  return observations;
}
