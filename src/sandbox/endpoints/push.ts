import type { FastifyInstance } from 'fastify';
import { acceptFiling } from './filings';
import { customerOf, logInAtPortal } from '../authority/portal-access';
import { json } from '../http/problem';
import type { PushItem } from './push-message';
import { readPushMessage } from './push-validation';
import { addRoute, type Call, type Context } from '../http/route';
import { asObject } from './validate';
import type { Customer } from '../authority/world';

/** POST /genebrc/push-irm (spec: "POST /genebrc/push-irm"). */
export function addPushRoute(app: FastifyInstance, context: Context): void {
  addRoute(app, context, {
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
  });
}

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
  const held = customer.irms.find(
    ({ record }) => record.irmNumber === item.irmNumber && record.remittanceAdCode === item.irmAdCode,
  );
  const about = `Row ${item.serialNo}: `;
  if (!held) return [`${about}no held IRM record for ${item.irmNumber}`];
  const { record } = held;
  const observations: string[] = [];
  if (record.remittanceFCC !== item.irmFCC) observations.push(`${about}irmFCC differs from the held IRM record`);
  if (record.ifscCode !== item.irmIfscCode) observations.push(`${about}irmIfscCode differs from the held IRM record`);
  if (record.available.lessThan(item.mappedIRMAmountFCC)) {
    observations.push(`${about}mappedIRMAmountFCC is more than the held available amount`);
  }
  return observations;
}
