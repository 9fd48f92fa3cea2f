import type { Finding } from './finding';
import { groupBy } from './group-by';
import type { Mapping, MappingRow } from './mapping';
import { irmKeyText } from './mapping';
import { compareAmounts, formatAmount, subtractAmounts, sumAmounts } from './money';
import { errorAt, warningAt } from './rules-draft';
import { rowThatExceeds } from './rules-file';
import { listed } from './rules-words';

/** An IRM as the ledger holds it. Dates are DDMMYYYY or null, amounts exact decimal text in `currency`. */
export interface HeldIrm {
  irmNumber: string;
  irmAdCode: string;
  irmIfscCode: string;
  issueDate: string | null;
  remittanceDate: string | null;
  currency: string;
  purpose: string;
  /** The whole remittance. */
  amount: string;
  /** What the service said was still available at `readAt`. */
  available: string;
  status: string | null;
  /** When the balance was read from the service, milliseconds since the epoch. */
  readAt: number;
}

/** What one of our own live filings takes, or may take, from an IRM. */
export interface Hold {
  filingId: string;
  reference: string;
  state: string;
  /** `irmKeyText` of the mapping that holds it. */
  irmKey: string;
  amount: string;
  /** Null while it is not submitted. */
  submittedAt: number | null;
  outcomeKnown: boolean;
  certified: boolean;
}

type Group = [MappingRow, ...MappingRow[]];

/**
 * Checks the sums mapped per IRM key (number + AD code + IFSC + date) against the remittance and the balance less what our
 * own live filings hold. A hold that cannot be in the balance yet (not submitted, of unknown outcome, or submitted after
 * the balance was read) blocks and is named; one submitted before the read may be in it already, so it only warns. Facts
 * about the IRM itself that the authority may see otherwise (unknown here, cancelled, other currency) warn.
 */
export function checkBalances(
  rows: readonly MappingRow[],
  irms: readonly HeldIrm[],
  holds: readonly Hold[],
): Finding[] {
  const groups = groupBy(rows, (row) => irmKeyText(row.mapping));
  const irmsByKey = groupBy(irms, bankKey);
  const holdsByKey = groupBy(holds, (hold) => hold.irmKey);
  return [...groups].flatMap(([key, group]) => {
    const { mapping, row } = group[0];
    const irm = heldIrmOf(mapping, irmsByKey.get(bankKey(mapping)) ?? []);
    if (!irm) return [unknownIrm(row, mapping, irms)];
    return [...checkRecord(group, irm), ...checkSums(group, irm, holdsByKey.get(key) ?? [])];
  });
}

/** The held record of a mapping's IRM: `irmDt` is its issue date, or its remittance date where only that fits. */
export function findHeldIrm(mapping: Mapping, irms: readonly HeldIrm[]): HeldIrm | undefined {
  return heldIrmOf(
    mapping,
    irms.filter((irm) => bankKey(irm) === bankKey(mapping)),
  );
}

function heldIrmOf(mapping: Mapping, sameBank: readonly HeldIrm[]): HeldIrm | undefined {
  return (
    sameBank.find((irm) => irm.issueDate === mapping.irmDt) ??
    sameBank.find((irm) => irm.remittanceDate === mapping.irmDt)
  );
}

function bankKey({
  irmNumber,
  irmAdCode,
  irmIfscCode,
}: Pick<Mapping, 'irmNumber' | 'irmAdCode' | 'irmIfscCode'>): string {
  return irmKeyText({ irmNumber, irmAdCode, irmIfscCode, irmDt: '' });
}

function unknownIrm(row: number, mapping: Mapping, irms: readonly HeldIrm[]): Finding {
  const sameNumber = irms.filter(
    (irm) => irm.irmNumber.trim().toUpperCase() === mapping.irmNumber.trim().toUpperCase(),
  );
  const others = sameNumber.map(
    (irm) =>
      `AD code ${irm.irmAdCode}, IFSC ${irm.irmIfscCode}, date ${irm.issueDate ?? irm.remittanceDate ?? 'unknown'}`,
  );
  const hint =
    others.length > 0
      ? `That number is held with ${listed(others, 3)}: compare them`
      : 'Refresh the IRMs, or compare the number, AD code, IFSC and date with the bank advice';
  return warningAt(
    row,
    'irmNumber',
    'irm_unknown',
    `No IRM ${mapping.irmNumber} with this AD code, IFSC and date is held for the exporter. ${hint}.`,
  );
}

function checkRecord(group: Group, irm: HeldIrm): Finding[] {
  const findings: Finding[] = [];
  const { row, mapping } = group[0];
  if (irm.status !== null && /^c(ancel|$)/i.test(irm.status.trim())) {
    findings.push(
      warningAt(
        row,
        'irmNumber',
        'irm_cancelled',
        `IRM ${irm.irmNumber} has the status ${irm.status}, which reads as cancelled. Ask the bank before filing.`,
      ),
    );
  }
  if (irm.currency !== mapping.irmFCC) {
    findings.push(
      warningAt(
        row,
        'irmFCC',
        'irm_currency_differs',
        `The held IRM is in ${irm.currency}, this row says ${mapping.irmFCC}. Write the IRM's currency.`,
      ),
    );
  }
  if (irm.purpose !== '' && irm.purpose !== mapping.irmPurposeCode) {
    findings.push(
      warningAt(
        row,
        'irmPurposeCode',
        'irm_purpose_differs',
        `The held IRM has the purpose ${irm.purpose}, this row says ${mapping.irmPurposeCode}. Write the IRM's purpose.`,
      ),
    );
  }
  // Public readings differ on whether the authority wants the whole remittance here or what is left of it, so either passes.
  const fits = [irm.amount, irm.available].some((amount) => compareAmounts(amount, mapping.irmRemitAmtFCC) === 0);
  if (!fits) {
    findings.push(
      warningAt(
        row,
        'irmRemitAmtFCC',
        'irm_amount_differs',
        `irmRemitAmtFCC ${formatAmount(mapping.irmRemitAmtFCC)} is neither the held remittance of ${formatAmount(irm.amount)} nor its balance of ${formatAmount(irm.available)}. Write one of them.`,
      ),
    );
  }
  return findings;
}

function checkSums(group: Group, irm: HeldIrm, holds: readonly Hold[]): Finding[] {
  const running = group.map(({ row, mapping }) => ({ row, amount: mapping.mappedIRMAmountFCC }));
  const total = sumAmounts(running.map(({ amount }) => amount));
  const refuse = (code: string, limit: string, say: string): Finding[] => [
    errorAt(
      rowThatExceeds(running, limit),
      'mappedIRMAmountFCC',
      code,
      `${formatAmount(total)} ${irm.currency} is mapped of IRM ${irm.irmNumber}, ${say}`,
    ),
  ];
  if (compareAmounts(total, irm.amount) > 0) {
    return refuse(
      'over_remittance',
      irm.amount,
      `more than the remittance of ${formatAmount(irm.amount)}. Lower the mapped amounts.`,
    );
  }
  if (compareAmounts(total, irm.available) > 0) {
    return refuse(
      'over_balance',
      irm.available,
      `more than the ${formatAmount(irm.available)} still available. Lower the mapped amounts, or refresh the IRMs.`,
    );
  }
  const outside = holds.filter((hold) => !mayBeInBalance(hold, irm.readAt));
  const free = subtractAmounts(irm.available, sumAmounts(outside.map(({ amount }) => amount)));
  if (compareAmounts(total, free) > 0) {
    return refuse(
      'balance_held',
      free,
      `but ${named(outside)} ${outside.length > 1 ? 'hold' : 'holds'} part of the ${formatAmount(irm.available)} available, which leaves ${formatAmount(atLeastZero(free))}. Wait for that outcome, or lower the mapped amounts.`,
    ).map((finding) => ({ ...finding, ...filingOf(outside) }));
  }
  const doubtful = doubtfulHolds(holds, irm);
  const surelyFree = subtractAmounts(free, sumAmounts(doubtful.map(({ amount }) => amount)));
  if (compareAmounts(total, surelyFree) <= 0) return [];
  return [
    {
      ...warningAt(
        rowThatExceeds(running, surelyFree),
        'mappedIRMAmountFCC',
        'balance_maybe_held',
        `The balance of IRM ${irm.irmNumber} may not show ${named(doubtful)} yet; without it ${formatAmount(atLeastZero(surelyFree))} ${irm.currency} is left. Refresh the IRMs before filing.`,
      ),
      ...filingOf(doubtful),
    },
  ];
}

/** Only a filing that was submitted, with a known outcome, before the balance was read can be in that balance. */
function mayBeInBalance(hold: Hold, readAt: number): boolean {
  return hold.submittedAt !== null && hold.outcomeKnown && hold.submittedAt <= readAt;
}

/**
 * Holds that the balance may or may not show. A certified one is not doubtful where the utilised part of the remittance is
 * large enough to contain all certified ones; otherwise every later use of a partly used IRM would warn for ever.
 */
function doubtfulHolds(holds: readonly Hold[], irm: HeldIrm): Hold[] {
  const earlier = holds.filter((hold) => mayBeInBalance(hold, irm.readAt));
  const certified = sumAmounts(earlier.filter((hold) => hold.certified).map(({ amount }) => amount));
  const utilised = subtractAmounts(irm.amount, irm.available);
  return compareAmounts(certified, utilised) <= 0 ? earlier.filter((hold) => !hold.certified) : earlier;
}

function named(holds: readonly Hold[]): string {
  const filings = new Map(holds.map((hold) => [hold.filingId, `${hold.reference} (${hold.state}, ${hold.filingId})`]));
  return `${filings.size > 1 ? 'filings' : 'filing'} ${listed([...filings.values()], 5)}`;
}

function filingOf(holds: readonly Hold[]): { filingId?: string } {
  return holds[0] ? { filingId: holds[0].filingId } : {};
}

function atLeastZero(amount: string): string {
  return compareAmounts(amount, 0) < 0 ? '0' : amount;
}
