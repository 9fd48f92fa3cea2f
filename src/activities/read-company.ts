/** One reading of a company: its clients' IRMs, refreshed live, and its certificates up to today. */
import { CREDENTIAL_KINDS } from '../domain/service/retry-table';
import type { ErrorKind } from '../domain/service/error-kinds';
import { needExporter } from '../ledger/exporters/exporters';
import { countIrms } from '../ledger/exporters/irms';
import { filingsInDoubt } from '../ledger/readings';
import { readCertificates, type Days } from './company/certificates';
import { readIrms } from './company/irms';
import type { CompanyRead } from './company/reading';
import type { Deps } from './dependencies';

export type { CompanyRead };

export interface ReadCompanyArgs {
  exporterId: string;
  what: 'both' | 'certificates' | 'irms';
  /** Reads the IRMs of this client alone, not those of all clients of its company. */
  alone?: boolean;
  /** The filing that asks; others of the company that are in doubt are woken. */
  filingId?: string;
  /** Only certificates issued on these days, instead of all since the last whole reading. */
  days?: Days;
}

/** Failures of a client after which its other calls would fail as well. */
const CLIENT_CANNOT_CALL: readonly ErrorKind[] = [
  ...CREDENTIAL_KINDS,
  ...(['unauthorized', 'forbidden', 'activation_pending', 'customer_not_found'] as const),
];

const NO_IEC = 'the IEC of the exporter is not known: neither its client object nor its IRMs have one';

/**
 * Reads a company through the client `exporterId` and its other ready ones. A failed call does not fail the activity:
 * the reading records it, and the caller decides when to read again. `irmCount`: the IRMs of the client in the ledger.
 */
async function readCompany(deps: Deps, args: ReadCompanyArgs): Promise<CompanyRead & { irmCount: number }> {
  const read = await readParts(deps, args);
  const { pool } = deps;
  // What the IRMs tell may be the IEC.
  const { mode, iec, exporterId } = await needExporter(pool, args.exporterId);
  if (iec !== null && read.state !== 'under_way') {
    const woken = await filingsInDoubt(pool, { mode, iec, except: args.filingId ?? null });
    for (const workflowId of woken) await deps.poke(workflowId);
  }
  return { ...read, irmCount: (await countIrms(pool, [exporterId])).get(exporterId) ?? 0 };
}

async function readParts(deps: Deps, { exporterId, what, days, alone = false }: ReadCompanyArgs): Promise<CompanyRead> {
  let company = await needExporter(deps.pool, exporterId);
  // Without an IEC the certificates cannot be read, but the IRMs may tell it.
  const irms = what === 'certificates' && company.iec !== null ? null : await readIrms(deps, company, { alone });
  if (irms && (what === 'irms' || irms.state === 'under_way')) return irms;
  if (irms?.failure && CLIENT_CANNOT_CALL.includes(irms.failure.kind)) return { ...irms, whole: false };
  company = await needExporter(deps.pool, exporterId);
  const { iec } = company;
  if (iec === null) return { whole: false, irmsWhole: irms?.irmsWhole ?? null, read: null, ...failed(irms) };
  let read = await readCertificates(deps, { ...company, iec }, days);
  // A long history is read in parts.
  while (read.state === 'read' && read.whole === false && read.problem === null && days === undefined)
    read = await readCertificates(deps, { ...company, iec }, days);
  if (irms === null || read.state === 'under_way') return { ...read, irmsWhole: irms?.irmsWhole ?? null };
  const failure = read.failure ?? irms.failure;
  const { irmsWhole } = irms;
  return { ...read, state: failure ? 'failed' : 'read', irmsWhole, failure, problem: read.problem ?? irms.problem };
}

const failed = (irms: CompanyRead | null): Pick<CompanyRead, 'state' | 'problem' | 'failure'> =>
  irms?.failure
    ? { state: 'failed', problem: irms.problem, failure: irms.failure }
    : { state: 'read', problem: NO_IEC, failure: null };

export const companyActivities = { readCompany };
