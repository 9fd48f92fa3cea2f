import type { Mapping } from '../src/domain/filing/mapping';
import type { Seed } from '../sandbox/authority/seed';
import { between, pick, seededRandom, type Random } from './random';
import { mapping, messageOf } from '../dev/sample-mapping';

const EXPORT_OF_SERVICES = 103;
const IRMS_OF_AN_EXPORTER = 6;
/** Large enough that no balance check refuses: refusals are not what a run is about. */
const REMITTANCE = 5_000_000;
const REMITTED_ON = '12052026';
const INVOICED_ON = '15052026';
const IFSC = 'HDFC0000060';
const AD_CODE = '0510060';
const PURPOSE = 'P0802';
/** One filing in this many maps the same part of the same invoice as an earlier one, from another remittance. */
const TWIN_EVERY = 14;

/** One filing in this many is sent as a workbook. */
const BULK_EVERY = 8;

export interface PlannedExporter {
  email: string;
  name: string;
  iec: string;
  username: string;
  password: string;
}

export interface PlannedFiling {
  reference: string;
  exporter: PlannedExporter;
  message: Record<string, unknown>;
  channel: 'push' | 'bulk';
  rows: Mapping[];
  /**
   * Another filing of the plan has equal rows but for their IRMs: whichever comes later may be refused as certified
   * already, while the certificate that is seen is not known to be the other's.
   */
  hasTwin: boolean;
}

export interface Plan {
  exporters: PlannedExporter[];
  /** Portal accounts and IRMs of these exporters for the sandbox. */
  seed: Seed;
  filings: PlannedFiling[];
}

/**
 * Exporters with large remittances, and filings of one to three rows. A few filings equal another one in everything
 * that fetch-details shows (document, date, amount, currency), so that a settlement that guessed would fail the run.
 */
export function makePlan({ filings, exporters, seed }: { filings: number; exporters: number; seed: number }): Plan {
  const random = seededRandom(seed);
  const people = Array.from({ length: exporters }, (_unused, nth) => exporterOf(nth));
  const planned: PlannedFiling[] = [];
  for (let nth = 0; nth < filings; nth += 1) {
    const exporter = people[nth % people.length]!;
    const twin = nth % TWIN_EVERY === TWIN_EVERY - 1 ? planned[nth - people.length] : undefined;
    const rows = twin ? twin.rows.map(underAnotherIrm) : rowsOf(nth, random);
    if (twin) twin.hasTwin = true;
    planned.push({
      reference: `CHAOS-${nth + 1}`,
      exporter,
      rows,
      hasTwin: twin !== undefined,
      channel: nth % BULK_EVERY === 0 ? 'bulk' : 'push',
      message: messageOf(rows),
    });
  }
  return { exporters: people, filings: planned, seed: { accounts: people.map(accountOf) } };
}

/** The exporter's account at the portal, with all its remittances. */
export function accountOf({ username, password, iec }: PlannedExporter) {
  const irms = Array.from({ length: IRMS_OF_AN_EXPORTER }, (_unused, nth) => irm(nth));
  return { username, password, iec, activationDelayMs: 0, irms };
}

export function exporterOf(nth: number): PlannedExporter {
  const number = String(nth + 1).padStart(4, '0');
  return {
    name: `Exporter ${number}`,
    email: `exporter.${number}@example.test`,
    iec: `CHAOS${number}X`,
    username: `chaos.${number}`,
    password: `Chaos#${number}`,
  };
}

function irm(nth: number) {
  return {
    irmNumber: irmNumber(nth),
    irmIssueDate: REMITTED_ON,
    ifscCode: IFSC,
    remittanceAdCode: AD_CODE,
    remittanceFCC: 'USD',
    remittanceFCCAmount: REMITTANCE,
    purposeOfRemittance: PURPOSE,
  };
}

const irmNumber = (nth: number) => `HDFCIRM2600${String(nth + 1).padStart(4, '0')}`;

function rowsOf(nth: number, random: Random): Mapping[] {
  const count = pick(random, [1, 1, 1, 1, 1, 1, 2, 2, 3]);
  return Array.from({ length: count }, (_unused, row) =>
    mappingOf({
      serialNo: row + 1,
      irm: between(random, 0, IRMS_OF_AN_EXPORTER - 1),
      document: `INV/26/${nth + 1}-${row + 1}`,
      amount: between(random, 10_000, 99_999) / 100,
    }),
  );
}

function underAnotherIrm(mapping: Mapping): Mapping {
  const other = Number(mapping.irmNumber.slice(-4)) % IRMS_OF_AN_EXPORTER;
  return { ...mapping, irmNumber: irmNumber(other) };
}

export function mappingOf(row: { serialNo: number; irm: number; document: string; amount: number }): Mapping {
  return mapping({
    serialNo: row.serialNo,
    uploadType: EXPORT_OF_SERVICES,
    irmIfscCode: IFSC,
    irmAdCode: AD_CODE,
    irmNumber: irmNumber(row.irm),
    irmDt: REMITTED_ON,
    irmPurposeCode: PURPOSE,
    irmRemitAmtFCC: REMITTANCE,
    sbCumInvoiceNumber: row.document,
    sbCumInvoiceDate: INVOICED_ON,
    portCode: 'INBLR4',
    billNo: row.document,
    // Its twin maps the same amount of it: a document is refused once more than its value is mapped.
    sbCumInvoiceValueinFCC: row.amount * 2,
    mappedIRMAmountFCC: row.amount,
  });
}
