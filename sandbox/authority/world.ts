import type { ApiKey, ParsedSeed, SeedAccount, SeedIrm } from './seed';
import type { PushItem } from '../endpoints/push-message';

export type Mode = 'test' | 'live';

/** An IRM at the authority's portal: the balance that filings are checked against. */
export interface PortalIrm extends Omit<SeedIrm, 'irmAvailableAmt' | 'remittanceDate'> {
  remittanceDate: string;
  /** Exact decimal text. */
  available: string;
}

/** An IRM as of the last refresh; later changes at the portal do not show in it. */
export interface SavedIrm {
  id: string;
  createdAt: number;
  updatedAt: number;
  record: PortalIrm;
}

export type Certificate = SeedAccount['certificates'][number] & {
  iec: string;
  /** Request that it was created for; null for one of the seed. */
  requestId: string | null;
  serialNo: number | null;
  isGstAvailed: string;
  gstInvoiceNo: string;
  gstInvoiceDate: string;
  /** Moments on the sandbox clock from which fetch-details lists it and download-pdf has it. */
  detailsFrom: number;
  pdfFrom: number;
};

export interface PortalAccount extends Omit<SeedAccount, 'irms' | 'certificates'> {
  irms: PortalIrm[];
  certificates: Certificate[];
  logins: number;
  failedLogins: number;
  failedLoginsInARow: number;
}

export interface Customer {
  id: string;
  name: string;
  email: string;
  companyName: string | null;
  iec: string | null;
  address: string | null;
  platformId: string;
  mode: Mode;
  isActive: boolean;
  dgftUsername: string | null;
  dgftPassword: string | null;
  /** Present once a portal login has succeeded. */
  connection: { activatesAt: number; sharedCredentialsLikely: boolean } | null;
  /** Moments of failed credential checks within the last fifteen minutes, and until when checks are refused. */
  failedChecks: number[];
  checksRefusedUntil: number;
  irms: SavedIrm[];
  cachedPdfs: Set<string>;
  createdAt: number;
  updatedAt: number;
}

export interface Filing {
  requestId: string;
  dgftAckId: string;
  operation: 'push-irm' | 'bulk-upload';
  customerId: string;
  username: string;
  iec: string;
  ackStatus: 'Validated' | 'Failed';
  /** Whether the status endpoint finds it; false for a failed acknowledgement that was not recorded. */
  known: boolean;
  acceptedAt: number;
  processAt: number;
  processed: boolean;
  /** Every row ends Errored, whatever the authority's rules say. */
  forcedErrored: boolean;
  rows: {
    item: PushItem;
    fingerprint: string;
    processingStatus: 'Processed' | 'Errored' | null;
    errorDetails: unknown[];
    eBRCNumber: string | null;
    eBRCDt: string | null;
  }[];
  /** Rows whose mapping was live already when this filing was accepted. */
  doubles: { fingerprint: string; serialNo: number; firstRequestId: string }[];
}

export interface World {
  keys: ApiKey[];
  extractionKeys: Set<string>;
  accounts: PortalAccount[];
  customers: Map<string, Customer>;
  filings: Map<string, Filing>;
  pending: Set<Filing>;
  /** Rows that were or may become certificates, by fingerprint, in the order in which they were filed. */
  mappings: Map<string, { row: Filing['rows'][number]; requestId: string }[]>;
  outcomes: { script: ParsedSeed['outcomes'][number]; left: number }[];
  portalDown: boolean;
}

/** The initial state of the authority and the service, from a completed seed. */
export function createWorld(seed: ParsedSeed): World {
  return {
    keys: seed.keys ?? [],
    extractionKeys: new Set(seed.extractionKeys ?? []),
    accounts: (seed.accounts ?? []).map(portalAccount),
    customers: new Map(),
    filings: new Map(),
    pending: new Set(),
    mappings: new Map(),
    outcomes: seed.outcomes.map((script) => ({ script, left: script.times ?? Number.POSITIVE_INFINITY })),
    portalDown: false,
  };
}

export function portalAccount(seed: SeedAccount): PortalAccount {
  return {
    ...seed,
    irms: seed.irms.map(portalIrm),
    certificates: seed.certificates.map((certificate) => ({
      ...certificate,
      iec: seed.iec,
      requestId: null,
      serialNo: null,
      ...{ isGstAvailed: 'N', gstInvoiceNo: '', gstInvoiceDate: '' },
      detailsFrom: 0,
      pdfFrom: 0,
    })),
    logins: 0,
    failedLogins: 0,
    failedLoginsInARow: 0,
  };
}

export function portalIrm({ irmAvailableAmt, remittanceDate, ...irm }: SeedIrm): PortalIrm {
  return {
    ...irm,
    remittanceDate: remittanceDate ?? irm.irmIssueDate,
    available: String(irmAvailableAmt ?? irm.remittanceFCCAmount),
  };
}

/** Identifies an IRM: the number alone recurs under other AD codes and dates (spec: "Saved IRM record"). */
export function irmKey(irm: PortalIrm): string {
  return [irm.irmNumber, irm.remittanceAdCode, irm.irmIssueDate].join('|');
}

/** Whether a row names an IRM: by number, AD code and one of its two dates. The branch is no part of its identity. */
export function namesIrm(row: Pick<PushItem, 'irmNumber' | 'irmAdCode' | 'irmDt'>, irm: PortalIrm): boolean {
  const dates = [irm.irmIssueDate, irm.remittanceDate];
  return irm.irmNumber === row.irmNumber && irm.remittanceAdCode === row.irmAdCode && dates.includes(row.irmDt);
}
