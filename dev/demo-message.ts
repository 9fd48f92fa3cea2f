import type { Mapping } from '../src/domain/filing/mapping';
import { compareAmounts } from '../src/domain/money';
import { mapping, messageOf } from './sample-mapping';

/** The properties of an IRM from `ebrc irms --json` that a mapping needs. */
export interface DemoIrm {
  irmNumber: string;
  irmAdCode: string;
  irmIfscCode: string;
  irmIssueDate: string;
  currency: string;
  purposeCode: string;
  amount: string;
}

/** Service invoices, one of them settled by two remittances; `irm` 0 is the largest in dollars. */
const PLAN = [
  { irm: 0, document: 'KVR/2026/117', value: 120_000, mapped: 120_000 },
  { irm: 0, document: 'KVR/2026/118', value: 200_000, mapped: 150_000 },
  { irm: 1, document: 'KVR/2026/118', value: 200_000, mapped: 50_000 },
] as const;

const EXPORT_OF_SERVICES = 103;

/** A push message that maps remittances of the sandbox's exporter to three invoice parts. */
export const demoMessage = (irms: readonly DemoIrm[]) => messageOf(rowsOf(irms));

/** As {@link demoMessage}, of one invoice more. */
export function demoInvoice(irms: readonly DemoIrm[], document = 'KVR/2026/119') {
  const last = rowsOf(irms).at(-1)!;
  return messageOf([
    { ...last, serialNo: 1, sbCumInvoiceNumber: document, billNo: document, mappedIRMAmountFCC: 1_000 },
  ]);
}

function rowsOf(irms: readonly DemoIrm[]): Mapping[] {
  const dollars = irms.filter(({ currency }) => currency === 'USD').sort((a, b) => compareAmounts(b.amount, a.amount));
  return PLAN.map((each, index) => mappingOf(dollars[each.irm], each, index + 1));
}

function mappingOf(irm: DemoIrm | undefined, plan: (typeof PLAN)[number], serialNo: number): Mapping {
  if (!irm)
    throw new Error('The sandbox exporter has fewer than two dollar remittances: the default seed has changed.');
  return serviceMapping(irm, plan.document, {
    serialNo,
    portCode: 'INBLR4',
    sbCumInvoiceValueinFCC: plan.value,
    mappedIRMAmountFCC: plan.mapped,
  });
}

/** A service invoice that is settled from an IRM. */
export const serviceMapping = (irm: DemoIrm, document: string, more: Partial<Mapping>): Mapping =>
  mapping({
    uploadType: EXPORT_OF_SERVICES,
    irmIfscCode: irm.irmIfscCode,
    irmAdCode: irm.irmAdCode,
    irmNumber: irm.irmNumber,
    irmDt: irm.irmIssueDate,
    irmFCC: irm.currency,
    irmPurposeCode: irm.purposeCode,
    irmRemitAmtFCC: Number(irm.amount),
    sbCumInvoiceNumber: document,
    sbCumInvoiceDate: '15052026',
    billNo: document,
    ...more,
  });
