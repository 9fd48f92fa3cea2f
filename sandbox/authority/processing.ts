import { randomBytes } from 'node:crypto';
import { Decimal } from 'decimal.js';
import { kolkataDate } from './calendar';
import type { Settings } from '../options';
import { DIRECT_EXPORT, type PushItem } from '../endpoints/push-message';
import { namesIrm, type Filing, type PortalAccount, type PortalIrm, type World } from './world';

/** Decides on the filings that are due by `now` (sandbox clock, ms). No timers, so the clock may jump by a day. */
export function processDue({ world, settings }: { world: World; settings: Settings }, now: number): void {
  const due = [...world.pending]
    .filter((filing) => filing.processAt <= now)
    .sort((a, b) => a.processAt - b.processAt || a.acceptedAt - b.acceptedAt);
  for (const filing of due) {
    world.pending.delete(filing);
    processFiling(filing, world, settings);
  }
}

function processFiling(filing: Filing, world: World, settings: Settings): void {
  filing.processed = true;
  if (filing.ackStatus === 'Failed' && !filing.known) return;
  const account = world.accounts.find(({ username }) => username === filing.username);
  const serialNos = new Set<number>();
  for (const row of filing.rows) {
    const errors = filing.forcedErrored
      ? ['The acknowledgement of the request failed']
      : (scripted(row.item, world) ?? judge(row.item, account, serialNos));
    serialNos.add(row.item.serialNo);
    if (errors.length > 0 || !account) {
      row.processingStatus = 'Errored';
      row.errorDetails = errors;
      continue;
    }
    mint(row, filing, account, settings);
  }
}

/** The decision that the seed scripts for a row, or null to judge it by the authority's rules. */
function scripted(item: PushItem, world: World): unknown[] | null {
  const entry = world.outcomes.find(
    ({ script, left }) =>
      left > 0 &&
      (script.match.irmNumber ?? item.irmNumber) === item.irmNumber &&
      (script.match.document ?? item.sbCumInvoiceNumber) === item.sbCumInvoiceNumber,
  );
  if (!entry) return null;
  entry.left -= 1;
  if (entry.script.processingStatus === 'Processed') return [];
  const { errorDetails } = entry.script;
  return errorDetails.length > 0 ? errorDetails : ['Rejected by the authority'];
}

/** The authority's own checks, with the annexure's codes; their carrier in `errorDetails` is not documented. */
function judge(item: PushItem, account: PortalAccount | undefined, serialNos: ReadonlySet<number>): string[] {
  if (!account) return ['The exporter has no account at the portal any more'];
  if (serialNos.has(item.serialNo)) return ['ERR11: Duplicate serial number in the request'];
  const irm = findIrm(account, item);
  if (!irm) {
    const numbered = account.irms.filter(({ irmNumber }) => irmNumber === item.irmNumber);
    const elsewhere = numbered.length > 0 && numbered.every((irm) => irm.remittanceAdCode !== item.irmAdCode);
    return [elsewhere ? 'ERR16: AD code does not match the IRM' : 'ERR19: No IRM with this number and date'];
  }
  const errors: string[] = [];
  if (/^cancel/i.test(irm.irmStatus)) errors.push('ERR19: The IRM is cancelled');
  if (irm.ifscCode !== item.irmIfscCode) errors.push('ERR15: IFSC does not match the IRM');
  if (irm.remittanceFCC !== item.irmFCC) errors.push('ERR20: IRM currency does not match the bank record');
  // P0103 (advance payment) is the only purpose that may differ from the bank's record.
  if (irm.purposeOfRemittance !== item.irmPurposeCode && item.irmPurposeCode !== 'P0103') {
    errors.push('ERR22: Purpose code does not match the bank record');
  }
  if (String(item.uploadType) === DIRECT_EXPORT && !/^IN[A-Z]{3}[0-9A-Z]$/.test(item.portCode)) {
    errors.push('ERR30: Unknown port code');
  }
  if (new Decimal(irm.available).lessThan(item.mappedIRMAmountFCC)) {
    const available = new Decimal(irm.available).toFixed(2);
    errors.push(`ERR38: Mapped IRM amount is more than the available amount ${available}`);
  }
  return errors;
}

/** The IRM that a row names; of two, one of the row's branch. */
export function findIrm({ irms }: PortalAccount, item: PushItem): PortalIrm | undefined {
  const named = irms.filter((irm) => namesIrm(item, irm));
  return named.find(({ ifscCode }) => ifscCode === item.irmIfscCode) ?? named[0];
}

function mint(row: Filing['rows'][number], filing: Filing, account: PortalAccount, settings: Settings): void {
  const { item } = row;
  const irm = findIrm(account, item);
  // A scripted outcome may process a row whose IRM does not exist; then there is no balance to reduce.
  if (irm) irm.available = Decimal.max(0, new Decimal(irm.available).minus(item.mappedIRMAmountFCC)).toFixed();
  row.processingStatus = 'Processed';
  row.eBRCNumber = `EB${randomBytes(9).toString('hex').toUpperCase()}`;
  row.eBRCDt = kolkataDate(filing.processAt);
  account.certificates.push({
    eBRCNumber: row.eBRCNumber,
    eBRCDate: row.eBRCDt,
    iec: account.iec,
    irmNumber: item.irmNumber,
    billNo: item.billNo,
    sbCumInvoiceNumber: item.sbCumInvoiceNumber,
    sbCumInvoiceDate: item.sbCumInvoiceDate,
    realisedValueFCC: item.mappedIRMAmountFCC,
    currencyCode: item.irmFCC,
    realizationDt: irm?.remittanceDate ?? item.irmDt,
    eBRCStatus: 'Issued',
    brcUtilStatus: 'Unutilised',
    isGstAvailed: item.isGstAvail,
    gstInvoiceNo: item.gstinInvoiceNumber ?? '',
    gstInvoiceDate: item.gstinInvoiceDate ?? '',
    requestId: filing.requestId,
    serialNo: item.serialNo,
    detailsFrom: filing.processAt + settings.detailsDelayMs,
    pdfFrom: filing.processAt + settings.pdfDelayMs,
  });
}
