import type { FilingState } from '../../src/domain/filing/states';
import type { Mapping, MappingRow } from '../../src/domain/filing/mapping';
import { filingWorkflowId } from '../../src/domain/names';
import { saveExporter, type CustomerRecord } from '../../src/ledger/exporters/exporters';
import { contentHashOf, saveInput } from '../../src/ledger/filings/filing-inputs';
import { recordIntent, type Intent } from '../../src/ledger/filings/filing-intent';
import { readNow, type FilingNow } from '../../src/ledger/filings/filing-now';
import { holdStep, moveHeld, type ProgressNote } from '../../src/ledger/filings/filing-progress';
import { saveIrms, type IrmRecord } from '../../src/ledger/exporters/irms';
import { needFiling } from '../../src/ledger/filings/filings';
import { withTransaction, type Queryable } from '../../src/ledger/pool';
import type { TestDatabase } from '../support/postgres';
import { mappingRow } from '../../dev/sample-mapping';

export const EXPORTER = 'exporter-1';
export const NOW = new Date('2026-02-10T06:00:00Z');

export const minutesLater = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);

/** A client as the service returns it. */
export const customerRecord = (id: string): CustomerRecord => ({
  ...{ id, name: 'Asha Exports', email: `${id}@example.test`, companyName: null, iec: 'AAGCM4521K', address: null },
  ...{ isActive: true, hasDgftCredentials: true, dgftApiStatus: null },
});

/** An exporter that the ledger knows, and its one IRM of 10,000 USD, whose balance was read at NOW. */
export async function knowExporter({ pool }: TestDatabase, exporterId = EXPORTER, iec = 'AAGCM4521K'): Promise<void> {
  await saveExporter(pool, { ...customerRecord(exporterId), iec }, 'test', NOW);
  await readBalance({ pool }, 10_000, NOW, exporterId, iec);
}

/** The balance of the exporter's IRM, as read from the service at `at`. */
export async function readBalance(
  { pool }: Pick<TestDatabase, 'pool'>,
  available: number,
  at: Date,
  exporterId = EXPORTER,
  iec = 'AAGCM4521K',
): Promise<void> {
  await saveIrms(pool, exporterId, [irmRecord(available, iec)], at);
}

/** The exporter's balances, read once more from the service at `at`, and unchanged. */
export async function readBalancesAgain({ pool }: Pick<TestDatabase, 'pool'>, exporterId: string, at: Date) {
  await pool.query('UPDATE irms SET read_at = greatest(read_at, $2) WHERE exporter_id = $1', [exporterId, at]);
}

/** The exporter's one IRM, of 10,000 USD. */
export function irmRecord(available: number, iec: string | null = 'AAGCM4521K'): IrmRecord {
  const { mapping } = mappingRow();
  return {
    irmNumber: mapping.irmNumber,
    irmIssueDate: mapping.irmDt,
    irmStatus: 'fresh',
    ifscCode: mapping.irmIfscCode,
    remittanceAdCode: mapping.irmAdCode,
    remittanceDate: mapping.irmDt,
    remittanceFCC: 'USD',
    remittanceFCCAmount: 10_000,
    irmAvailableAmt: available,
    irmUtilizedAmt: 10_000 - available,
    iecCode: iec,
    remitterName: null,
    remitterCountry: null,
    purposeOfRemittance: mapping.irmPurposeCode,
  };
}

/** Rows of one exporter's IRM, one for each set of changes. */
export const rowsOf = (...changes: Partial<Mapping>[]): MappingRow[] =>
  changes.map((change, index) => mappingRow({ serialNo: index + 1, ...change }));

/** Records an intent as the first activity of a filing does. */
export async function record(
  { pool }: Pick<TestDatabase, 'pool'>,
  reference: string,
  rows: MappingRow[],
  more: Partial<Intent> = {},
): ReturnType<typeof recordIntent> {
  const exporterId = more.exporterId ?? EXPORTER;
  const content = { exporterId, uploadType: 101, declaration: 'Y' as const, rows };
  return recordIntent(pool, {
    mode: 'test',
    exporterId,
    reference,
    n: 1,
    corrects: null,
    workflowId: filingWorkflowId('test', reference, more.n ?? 1),
    contentHash: contentHashOf(content),
    inputRef: await saveInput(pool, { rows, sourceKind: 'json' }),
    rows,
    uploadType: 101,
    declaration: 'Y',
    channel: 'push',
    warnings: [],
    madeBy: 'asha',
    approvalNeeded: false,
    grantId: null,
    shown: '',
    permitted: [],
    at: NOW,
    ...more,
  });
}

/** What an intent that is refused with these findings comes to. */
export const refusal = (...findings: object[]) => ({ outcome: 'refused', findings });

/** As `record`, for intents that have to be opened. @returns the filing's id. */
export async function open(...args: Parameters<typeof record>): Promise<string> {
  const outcome = await record(...args);
  if (outcome.outcome !== 'opened') throw new Error(JSON.stringify(outcome));
  return outcome.filingId;
}

/** Records a move of a filing, as a step of its workflow does. */
export async function recordProgress(db: Queryable, note: ProgressNote): Promise<FilingNow | 'differs'> {
  const { filingId, step, state } = note;
  const held = await holdStep(db, { filingId, seq: note.seq - 1, step, move: { state, kind: note.event.kind } });
  if (held === 'differs') return held;
  return held === 'repeated' ? readNow(db, filingId, step) : moveHeld(db, held, note);
}

/** Moves a filing through states, as its workflow would. */
export async function move({ pool }: Pick<TestDatabase, 'pool'>, filingId: string, ...states: FilingState[]) {
  for (const state of states) {
    const { seq } = await needFiling(pool, filingId);
    const event = { kind: state, text: state };
    const note = { filingId, seq: seq + 1, state, attention: null, at: NOW, event };
    await withTransaction(pool, (client) => recordProgress(client, note));
  }
}

/** Until so many transactions of this database wait for another's lock. */
export async function untilLockWaits(ledger: TestDatabase, most = 1): Promise<'waits'> {
  for (;;) {
    const blocked = `datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`;
    if ((await ledger.select(`SELECT 1 FROM pg_stat_activity WHERE ${blocked}`)).length >= most) return 'waits';
  }
}
