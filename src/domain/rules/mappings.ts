/** Which rows are the same mapping, and what a row may be filed beside. */
import { billKey, documentKey, irmKey } from '../identity';
import type { Mapping, MappingRow } from '../filing/mapping';
import { canonicalAmount } from '../money';
import { filingName } from '../names';
import { groupBy } from '../values';
import type { LetIn, Objection } from './duplicates';
import { warningAt, type Finding } from './finding';
import { listed } from './value-messages';

/** What mappings of one company are compared by, in comparable form. Two bill numbers differ only if both are given. */
export interface MappingKeys {
  irm: string;
  document: string;
  bill: string;
  /** As `canonicalAmount` writes it. */
  amount: string;
}

export const mappingKeysOf = (mapping: Mapping): MappingKeys => ({
  irm: irmKey(mapping.irmNumber),
  document: documentKey(mapping.sbCumInvoiceNumber),
  bill: billKey(mapping.billNo),
  amount: canonicalAmount(mapping.mappedIRMAmountFCC),
});

/**
 * Whether two rows may be one mapping: the same IRM and document, or the same IRM and amount where the document of one
 * is the bill of the other, as when the invoice number was once written into the wrong column.
 */
export function repeats(a: MappingKeys, b: MappingKeys): boolean {
  if (a.irm !== b.irm) return false;
  if (a.document === b.document) return true;
  return a.amount === b.amount && (isNumber(a.document, b.bill) || isNumber(a.bill, b.document));
}

const isNumber = (one: string, other: string): boolean => one !== '' && one === other;

/** Inside one file rows stand beside each other where bill or amount differ; between filings where both do. */
export function mayStandBeside(a: MappingKeys, b: MappingKeys, within: 'file' | 'filings'): boolean {
  const bill = a.bill !== '' && b.bill !== '' && a.bill !== b.bill;
  const amount = a.amount !== b.amount;
  return within === 'file' ? bill || amount : bill && amount;
}

const equals = (a: MappingKeys, b: MappingKeys): boolean => a.bill === b.bill && a.amount === b.amount;

/** A row of another filing of the company that holds its mapping. */
export interface HeldMapping extends MappingKeys {
  filingId: string;
  reference: string;
  n: number;
  /** Of its filing. */
  state: string;
  ordinal: number;
  /** Its certificate, if it has one. */
  eBRCNumber: string | null;
  /** It was sent, and nobody knows yet what became of it. */
  unknown: boolean;
}

/** A row of the corrected filing that holds its mapping no longer, and that no other filing corrects. */
export interface FreedMapping extends MappingKeys {
  position: number;
  beside: readonly string[];
  reason: string | null;
}

/** How a row holds its mapping. */
export interface Claim extends LetIn {
  ordinal: number;
}

/**
 * Judges which rows of a filing may hold their mappings. A correction holds as many rows of an IRM and document as its
 * predecessor freed: beside the rows of its own reference as if all were one file, and beside others as before.
 * @returns a claim for each row; objections to some of them, and warnings about rows beside others
 */
export function judgeMappings(args: {
  rows: readonly MappingRow[];
  held: readonly HeldMapping[];
  reference: string;
  freed?: readonly FreedMapping[];
}): { claims: Claim[]; objections: Objection[]; warnings: Finding[] } {
  const { rows, held, reference, freed = [] } = args;
  const keys = rows.map(({ mapping }) => mappingKeysOf(mapping));
  const taken = takeFreed(keys, freed);
  const heldOf = groupBy(held, ({ irm }) => irm);
  const next = new Map<string, number>();
  for (const { ordinal, ...holder } of held)
    next.set(nameOf(holder), Math.max(next.get(nameOf(holder)) ?? 0, ordinal + 1));
  const earlier = new Map<string, number[]>();
  const claims: Claim[] = [];
  const objections: Objection[] = [];
  const warnings: Finding[] = [];
  for (const [position, own] of keys.entries()) {
    const row = rows[position];
    if (!row) continue;
    const before = taken[position];
    const again = before !== undefined && equals(own, before);
    const holders = (heldOf.get(own.irm) ?? []).filter((holder) => repeats(own, holder));
    const byRule = (holder: HeldMapping) =>
      mayStandBeside(own, holder, before && holder.reference === reference ? 'file' : 'filings');
    const asBefore = (holder: HeldMapping) =>
      again && !holder.unknown && (holder.reference === reference || before.beside.includes(holder.filingId));
    const refusing = holders.filter((holder) => !byRule(holder) && !asBefore(holder));
    const stands = holders.filter((holder) => !refusing.includes(holder));
    const reason = again && stands.some((holder) => !byRule(holder)) ? before.reason : null;
    const ordinal = next.get(nameOf(own)) ?? 0;
    next.set(nameOf(own), ordinal + 1);
    claims.push({ ordinal, beside: [...new Set(stands.map(({ filingId }) => filingId))], reason });
    if (refusing.length > 0) objections.push(heldAlready(position, row, refusing));
    else if (stands.length > 0) warnings.push(besideOthers(row, stands));

    const others = earlier.get(own.irm) ?? [];
    const twin = others.find((other) => {
      const that = keys[other];
      if (!that || !repeats(own, that) || mayStandBeside(own, that, 'file')) return false;
      return !(again && taken[other] !== undefined);
    });
    if (twin !== undefined) objections.push(twiceInFile(position, row, rows[twin]));
    earlier.set(own.irm, [...others, position]);
  }
  return { claims, objections, warnings };
}

const nameOf = ({ irm, document }: Pick<MappingKeys, 'irm' | 'document'>): string => `${irm} ${document}`;

/** Gives each row a freed one of its IRM and document, at first the equal ones; a freed row is given once. */
export function takeFreed(keys: readonly MappingKeys[], freed: readonly FreedMapping[]): (FreedMapping | undefined)[] {
  const left = new Map([...groupBy(freed, nameOf)].map(([name, rows]) => [name, [...rows]]));
  const taken: (FreedMapping | undefined)[] = keys.map(() => undefined);
  for (const suits of [equals, () => true]) {
    for (const [position, own] of keys.entries()) {
      const rows = left.get(nameOf(own)) ?? [];
      const found = taken[position] ? -1 : rows.findIndex((row) => suits(own, row));
      if (found >= 0) taken[position] = rows.splice(found, 1)[0];
    }
  }
  return taken;
}

const what = ({ mapping }: MappingRow): string =>
  `IRM ${mapping.irmNumber} for document ${mapping.sbCumInvoiceNumber} with ${mapping.mappedIRMAmountFCC} ${mapping.irmFCC}`;

const nameOfFiling = ({ filingId, state, ...filing }: HeldMapping): string =>
  `filing ${filingId} (reference ${filingName(filing)}, state ${state})`;

function heldAlready(position: number, row: MappingRow, holders: readonly HeldMapping[]): Objection {
  const certificates = holders.flatMap(({ eBRCNumber }) => eBRCNumber ?? []);
  const where = listed([...new Set(holders.map(nameOfFiling))], 3);
  const certified = certificates.length > 0 ? `, with certificate ${listed(certificates, 3)}` : '';
  return {
    ...{ position, row: row.row, code: 'mapping_held', message: `${what(row)} is already in ${where}${certified}.` },
    filings: [...new Set(holders.map(({ filingId }) => filingId))],
    certificates: [],
    unknown: holders.some(({ unknown }) => unknown),
  };
}

function twiceInFile(position: number, row: MappingRow, first: MappingRow | undefined): Objection {
  const message = `${what(row)} is in row ${first?.row} of this file too, with the same amount and bill number.`;
  const nobody = { filings: [], certificates: [], unknown: false };
  return { position, row: row.row, code: 'duplicate_mapping', message, ...nobody };
}

function besideOthers(row: MappingRow, holders: readonly HeldMapping[]): Finding {
  const message = `The same IRM and document are in ${listed([...new Set(holders.map(nameOfFiling))], 3)} too, with another amount or bill number. Check that both are meant: each gets a certificate.`;
  const [first] = holders;
  return { ...warningAt(row.row, null, 'mapping_beside', message), ...(first && { filingId: first.filingId }) };
}
