import { randomInt, randomUUID } from 'node:crypto';
import { Decimal } from 'decimal.js';
import { effectOf } from '../faults/faults';
import { findIrm } from '../authority/processing';
import type { PushItem } from './push-message';
import type { Call } from '../http/route';
import { irmKey, type Customer, type Filing, type PortalAccount, type World } from '../authority/world';

/**
 * Accepts a submission, which is processed even if the answer is lost. An identical mapping is accepted, as by the
 * service, and recorded as a double filing.
 * @returns its acknowledgement (spec: "Generation request")
 */
export function acceptFiling(
  call: Call,
  operation: Filing['operation'],
  { customer, account, items }: { customer: Customer; account: PortalAccount; items: PushItem[] },
) {
  const { world, settings } = call.context;
  const failed = effectOf(call.effects, 'failed-ack');
  const hidden = effectOf(call.effects, 'accepted-but-invisible');
  const rows = items.map((item): Filing['rows'][number] => ({
    item,
    fingerprint: fingerprintOf(account, item),
    processingStatus: null,
    errorDetails: [],
    eBRCNumber: null,
    eBRCDt: null,
  }));
  const filing: Filing = {
    requestId: randomUUID(),
    dgftAckId: `ACK${Date.now().toString(36).toUpperCase()}${randomInt(1_000_000).toString().padStart(6, '0')}`,
    operation,
    customerId: customer.id,
    username: account.username,
    iec: account.iec,
    ackStatus: failed ? 'Failed' : 'Validated',
    known: failed ? failed.statusKnown : true,
    acceptedAt: call.now,
    processAt: call.now + Math.max(settings.ackDelayMs, hidden?.delayMs ?? 0),
    processed: false,
    forcedErrored: failed?.outcome === 'Errored',
    rows,
    doubles: [],
  };
  if (mayBeCertified(filing)) filing.doubles = recordMappings(world, filing, account);
  world.filings.set(filing.requestId, filing);
  world.pending.add(filing);
  call.record.requestId = filing.requestId;
  call.record.mappings = rows.map(({ fingerprint }) => fingerprint);
  changeIrms(call, account, items);
  return {
    dgftAckId: filing.dgftAckId,
    requestId: filing.requestId,
    ackStatus: filing.ackStatus,
    recordResCount: rows.length,
    errorDetails: failed ? ['The authority did not validate the request'] : [],
  };
}

/** One exporter's remittance, document and mapped amount. As numbers: 100 and 100.00 are the same. */
function fingerprintOf(account: PortalAccount, item: PushItem): string {
  const { irmNumber, irmAdCode, irmDt, sbCumInvoiceNumber, sbCumInvoiceDate, mappedIRMAmountFCC } = item;
  // An IRM has two dates, and a row names it by either.
  const irm = findIrm(account, item);
  const remittance = irm ? irmKey(irm) : [irmNumber, irmAdCode, irmDt].join('|');
  return [account.iec, remittance, sbCumInvoiceNumber, sbCumInvoiceDate, mappedIRMAmountFCC].join('|');
}

/** Whether the filing's rows may become certificates. */
function mayBeCertified(filing: Filing): boolean {
  return filing.ackStatus === 'Validated' || (filing.known && !filing.forcedErrored);
}

/** Records new mappings. @returns those that are live already: accepted before, neither rejected nor cancelled since */
function recordMappings(world: World, filing: Filing, { certificates }: PortalAccount): Filing['doubles'] {
  const doubles: Filing['doubles'] = [];
  const cancelled = new Set(
    certificates.filter(({ eBRCStatus }) => eBRCStatus === 'Cancelled').map(({ eBRCNumber }) => eBRCNumber),
  );
  for (const row of filing.rows) {
    const entries = world.mappings.get(row.fingerprint) ?? [];
    const live = entries.find(
      ({ row: { processingStatus, eBRCNumber } }) => processingStatus !== 'Errored' && !cancelled.has(eBRCNumber ?? ''),
    );
    if (live) {
      doubles.push({ fingerprint: row.fingerprint, serialNo: row.item.serialNo, firstRequestId: live.requestId });
    }
    world.mappings.set(row.fingerprint, [...entries, { row, requestId: filing.requestId }]);
  }
  return doubles;
}

/** Applies the faults that change a filing's IRMs between its acceptance and its processing. */
function changeIrms(call: Call, account: PortalAccount, items: readonly PushItem[]): void {
  const amended = effectOf(call.effects, 'irm-amended');
  const cancelled = effectOf(call.effects, 'irm-cancelled');
  if (!amended && !cancelled) return;
  const only = (amended ?? cancelled)?.match.irmNumber;
  const named = items.filter((item) => (only ?? item.irmNumber) === item.irmNumber);
  for (const irm of new Set(named.flatMap((item) => findIrm(account, item) ?? []))) {
    if (amended) {
      irm.irmStatus = 'amended';
      irm.available = new Decimal(amended.availableAmount ?? new Decimal(irm.available).div(2)).toFixed();
    }
    if (cancelled) irm.irmStatus = 'cancelled';
  }
}

/** Every mapping that was filed again while an earlier filing of it was pending or certified. */
export function doubleFilings(world: World): { fingerprint: string; requestIds: string[]; eBRCNumbers: string[] }[] {
  const found = new Map<string, Set<string>>();
  for (const filing of world.filings.values()) {
    for (const { fingerprint, firstRequestId } of filing.doubles) {
      const requests = found.get(fingerprint) ?? new Set([firstRequestId]);
      found.set(fingerprint, requests.add(filing.requestId));
    }
  }
  return [...found].map(([fingerprint, requestIds]) => ({
    fingerprint,
    requestIds: [...requestIds],
    eBRCNumbers: (world.mappings.get(fingerprint) ?? []).flatMap(({ row }) => row.eBRCNumber ?? []),
  }));
}
