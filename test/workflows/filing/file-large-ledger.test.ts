/**
 * What a filing, its polls and the work of a worker ask of a ledger with a history: PostgreSQL's plans, on a filled
 * ledger with its real statistics. Nothing of them may read a table, or the whole of an index, that grows with history.
 */
import type pg from 'pg';
import { fillLedger } from '../../../dev/fill-ledger';
import { readFigures } from '../../../src/ledger/figures';
import { openFilingsAfter } from '../../../src/ledger/filings/open-filings';
import { placeEvents } from '../../../src/ledger/events';
import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { lockFiling } from '../../../src/ledger/filings/filing-lock';
import { absenceToConfirm, agreeingCertificates, completeLook, lineageSend } from '../../../src/ledger/gates/absence';
import { certifyByDetails } from '../../../src/ledger/gates/certify';
import { releaseAbsent } from '../../../src/ledger/gates/release-absent';
import { withTransaction } from '../../../src/ledger/pool';
import { compareParty } from '../../../src/ledger/reconciliation/compare';
import { storedPdfs } from '../../../src/ledger/certificates/pdfs';
import { openFilingsOf, partyToReconcile } from '../../../src/ledger/reconciliation/runs';
import { encodeSend, sendName, voidRecord } from '../../../src/ledger/sends/send-record';
import { readIdentity } from '../../../src/ledger/sends/sends';
import { endedWithRequests } from '../../../src/ledger/submissions/requests';
import { orphanedSecrets } from '../../../src/ledger/vault/vault';
import { cleaningJobs } from '../../../src/worker/jobs';
import { knowExporter } from '../../ledger/filing-support';
import { useFilingStage } from './use-filing-stage';

const stage = useFilingStage();

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: PlanNode[];
}

/** Larger tables are looked into by an index; of smaller ones PostgreSQL reads all, which costs no more. */
const MANY_PAGES = 40;

/** Every new statement on the pool is planned before it runs. @returns what is read too much, and by which statement */
async function watchPlans(pool: pg.Pool): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ name: string; partial: string[] | null }>(
    `SELECT c.relname AS name, (SELECT array_agg(i.indexrelid::regclass::text) FROM pg_index i WHERE i.indrelid = c.oid AND i.indpred IS NOT NULL
              AND (SELECT x.relpages FROM pg_class x WHERE x.oid = i.indexrelid) < 5) AS partial
       FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relpages > ${MANY_PAGES}`,
  );
  const large = new Set(rows.map(({ name }) => name));
  const partial = new Set(rows.flatMap((table) => table.partial ?? []));
  expect([...large]).toEqual(
    expect.arrayContaining(['filings', 'filing_rows', 'certificates', 'irms', 'events', 'requests']),
  );
  const seen = new Set<string>();
  const found = new Map<string, string>();

  function readsTooMuch(node: PlanNode, limited: boolean): string | undefined {
    const table = node['Relation Name'];
    if (table !== undefined && large.has(table) && node['Node Type'] === 'Seq Scan') return `all of ${table}`;
    const index = node['Index Name'];
    if (table !== undefined && index !== undefined && !node['Index Cond'] && !partial.has(index) && !limited)
      if (large.has(table)) return `all of ${index}`;
    const within = limited || node['Node Type'] === 'Limit';
    for (const child of node.Plans ?? []) {
      const why = readsTooMuch(child, within);
      if (why !== undefined) return why;
    }
    return undefined;
  }

  const watched = new WeakSet();
  pool.on('acquire', (client) => {
    if (watched.has(client)) return;
    watched.add(client);
    const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<pg.QueryResult>;
    client.query = (async (text: string, values?: unknown[]) => {
      if (typeof text === 'string' && /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/iu.test(text) && !seen.has(text)) {
        seen.add(text);
        const plan = await query(`EXPLAIN (FORMAT JSON) ${text}`, values);
        const [{ Plan: top }] = (plan.rows as { 'QUERY PLAN': [{ Plan: PlanNode }] }[])[0]!['QUERY PLAN'];
        const why = readsTooMuch(top, false);
        if (why !== undefined) found.set(why, text.replace(/\s+/gu, ' ').trim());
      }
      return query(text, values);
    }) as typeof client.query;
  });
  return found;
}

/** What is asked about a filing of the heavy party whose send has no answer. */
async function judgeOneInDoubt(pool: pg.Pool): Promise<void> {
  const at = new Date();
  const { rows } = await pool.query<{ filingId: string; exporterId: string }>(
    `SELECT filing_id AS "filingId", exporter_id AS "exporterId" FROM filings WHERE state = 'outcome_unknown' ORDER BY exporter_id LIMIT 1`,
  );
  const [{ filingId, exporterId }] = rows as [(typeof rows)[0]];
  const of = { filingId, submission: 1, exporterId, at };
  await withTransaction(pool, async (client) => {
    await lockFiling(client, filingId);
    await certifyByDetails(client, { ...of, settleMs: 0 });
    await absenceToConfirm(client, of);
    const subject = { attemptId: attemptIdOf(filingId, 1, 1) };
    await releaseAbsent(client, { subject, settleMs: 0, unseen: false, notOurs: [], reason: 'asked', at });
    await agreeingCertificates(client, { ...of, ...(await lineageSend(client, of)) });
    await completeLook(client, { exporterId, since: at, from: at });
  });
}

it('reads by indexes alone what a filing, its polls and a worker ask of a ledger of 20,000 rows', async () => {
  const { pool } = stage.ledger;
  await fillLedger(pool, { rows: 20_000, exporters: 200, open: 10 });
  // The filing is one of the party with a tenth of everything.
  await pool.query(`UPDATE parties SET iec = 'IEC0000001' WHERE party_id = 1`);
  const exporter = await stage.exporter();
  await knowExporter(stage.ledger, exporter.exporterId, 'IEC0000001');
  // The store has the ledger's last send, to which the next one is compared.
  const { ledgerId, sendNumber: number } = await readIdentity(pool);
  const last = voidRecord({ ledgerId, number, sender: 'sender', attemptId: null, at: new Date() });
  await stage.worker.deps.documents.createRecord(sendName(ledgerId, number), encodeSend(last));
  const found = await watchPlans(pool);
  const filing = await stage.file(
    exporter,
    [1_000, 2_000].map((mappedIRMAmountFCC) => stage.mapping(exporter, { mappedIRMAmountFCC })),
  );
  expect(await filing.result()).toMatchObject({ state: 'certified', counts: { archived: 2 } });
  const party = await partyToReconcile(pool, exporter.exporterId);
  expect(party?.partyId).toBe(1);

  await readFigures(pool, 'test');
  await placeEvents(pool);
  await openFilingsAfter(pool, { mode: 'test', after: 'F', limit: 100 });
  await endedWithRequests(pool, { mode: 'test', before: new Date(), limit: 100 });
  await orphanedSecrets(pool, 'test', 0);
  await judgeOneInDoubt(pool);
  for (const { run } of cleaningJobs(pool, stage.worker.deps.logger)) await run(new AbortController().signal);
  await storedPdfs(pool, { partyId: 7, began: new Date(), limit: 200, each: false });
  await openFilingsOf(pool, { mode: 'test', partyId: 7 });
  await compareParty(pool, {
    mode: 'test',
    partyId: 7,
    checks: ['certificates', 'balances', 'documents', 'filings'],
    windows: [],
    withoutWorkflow: [],
    overdueAfterMs: 0,
    at: new Date(),
  });
  expect(Object.fromEntries(found)).toEqual({});
}, 60_000);
