/** Refreshes and reads the IRMs of a company's clients. */
import { Context } from '@temporalio/activity';
import type { Irm } from '../../api/schemas/exporters';
import { callableClients, learnIec, noteIrmsRefreshed, type Company } from '../../ledger/exporters/exporters';
import { countIrms, iecOfIrms, saveIrms, type IrmChange } from '../../ledger/exporters/irms';
import { withTransaction } from '../../ledger/pool';
import { endReading, readClock } from '../../ledger/readings';
import { judgeIrms } from '../../ledger/reconciliation/irm-findings';
import { withHeartbeat } from '../call-context';
import type { Deps } from '../dependencies';
import { withCredentials } from '../exporters/credential-guard';
import { failureOfCalls, textOfFailure, TOOK_TOO_LONG, underLease, type CallFailed, type CompanyRead } from './reading';

interface ListOfIrms {
  exporterId: string;
  records: Irm[];
  /** The balances are those of the refresh. */
  readAt: Date;
  whole: boolean;
}

/**
 * One reading of IRMs: of the one client that was asked for (`alone`), or of all of its company. Another client that
 * cannot be called does not fail it.
 */
export function readIrms(deps: Deps, company: Company, { alone }: { alone: boolean }): Promise<CompanyRead> {
  const { pool, logger } = deps;
  return underLease(deps, company, async ({ readingId }) => {
    const lists: ListOfIrms[] = [];
    let failure: CallFailed | null = null;
    const clients = alone ? [company.exporterId] : await callableClients(pool, company);
    for (const exporterId of clients) {
      const failed = await failureOfCalls(async () => void lists.push(await listIrms(deps, exporterId)));
      if (exporterId === company.exporterId) failure = failed;
    }
    const irmsWhole = lists.find(({ exporterId }) => exporterId === company.exporterId)?.whole ?? false;
    const notWhole = 'the list of IRMs has entries that cannot be read, or is empty although it was not before';
    const problem = failure ? textOfFailure(failure) : irmsWhole ? null : notWhole;
    return withTransaction(pool, async (client) => {
      for (const list of lists) {
        const { changed } = await saveIrms(client, list);
        await noteIrmsRefreshed(client, list.exporterId, list.readAt);
        const iec = await iecOfIrms(client, list.exporterId);
        await learnIec(client, { exporterId: list.exporterId, iec, source: 'irms' });
        const severe = changed.filter(isSevere).length;
        if (severe > 0)
          logger.warn({ exporterId: list.exporterId, severe }, 'IRMs were amended or cancelled, or left the list');
      }
      if (lists.length > 0) await judgeIrms(client, company);
      const result = { whole: null, irmsWhole, problem };
      if (!(await endReading(client, readingId, { ...result, from: null, to: null }))) return TOOK_TOO_LONG;
      return { ...result, state: failure ? 'failed' : 'read', failure, read: null };
    });
  });
}

const isSevere = ({ what }: IrmChange): boolean => what.some((each) => each !== 'balance' && each !== 'status');

/** Has the service read the IRMs (spec: "POST /irm/refresh"), and reads what it saved (spec: "GET /irm"). */
async function listIrms(deps: Deps, exporterId: string): Promise<ListOfIrms> {
  const { api, pool } = deps;
  const readAt = await readClock(pool);
  await withHeartbeat(exporterId, (call) => withCredentials(deps, exporterId, () => api.refreshIrms(exporterId, call)));
  const records: Irm[] = [];
  const unread = await withHeartbeat(exporterId, async (call) => {
    const list = api.listIrms(exporterId, call);
    for (;;) {
      const { done, value } = await list.next();
      if (done) return value;
      records.push(value);
      Context.current().heartbeat({ read: records.length });
    }
  });
  // An outage may look like an empty list.
  const emptied = records.length === 0 && ((await countIrms(pool, [exporterId])).get(exporterId) ?? 0) > 0;
  return { exporterId, records, readAt, whole: unread === 0 && !emptied };
}
