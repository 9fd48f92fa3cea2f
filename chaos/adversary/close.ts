/** After a plan: the service is honest again, persons answer truthfully, and the filings come to an end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isEnd } from '../../src/domain/filing/states';
import type { Certificate } from '../../sandbox/authority/world';
import type { Lab } from './lab';
import { say, type Played } from './operate';

const WITHIN_MS = 100_000;
const LOOK_EVERY_MS = 700;
/** How often persons answer about one filing, before they leave it open. */
const ANSWERS = 2;

/** A filing as the ledger has it when a plan is over. */
export interface Open {
  filingId: string;
  reference: string;
  n: number;
  state: string;
  asked: boolean;
  attention: string | null;
  rows: { row: number; state: string; irm: string; document: string }[];
}

async function readFilings({ stage }: Lab, { company }: Played): Promise<Open[]> {
  const { rows } = await stage.pool.query<Open>(
    `SELECT f.filing_id AS "filingId", f.reference, f.n, f.state, f.asked, f.attention,
            (SELECT jsonb_agg(jsonb_build_object('row', r.source_row, 'state', r.state, 'irm', r.mapping ->> 'irmNumber',
               'document', r.mapping ->> 'sbCumInvoiceNumber') ORDER BY r.position) FROM filing_rows r WHERE r.filing_id = f.filing_id) AS rows
       FROM filings f WHERE f.exporter_id = $1 ORDER BY f.reference, f.n`,
    [company.exporterId],
  );
  return rows;
}

/** Whether nothing more is expected of it by itself: it ended, or somebody is asked and told why. */
export const isAtRest = ({ state, asked, attention }: Open): boolean =>
  isEnd(state) || (attention !== null && (asked || state === 'overdue'));

/** Waits until all filings of the plan are at rest, while two persons answer by what the authority has. */
export async function close(lab: Lab, played: Played): Promise<Open[]> {
  const { stage, service } = lab;
  stage.sandbox.clearFaults();
  service.clear();
  await lab.setClocks(0);
  const answered = new Map<string, number>();
  const mayAnswer = ({ filingId }: Open) => (answered.get(filingId) ?? 0) < ANSWERS;
  for (const until = Date.now() + WITHIN_MS; ; await sleep(LOOK_EVERY_MS)) {
    const filings = await readFilings(lab, played).catch(() => null);
    if (filings === null) continue;
    const isDone = (each: Open) => isEnd(each.state) || (isAtRest(each) && !(each.asked && mayAnswer(each)));
    const open = filings.filter((each) => !isDone(each));
    if (open.length === 0 || Date.now() > until) return filings;
    for (const each of open) {
      await stage.client.resume(each.filingId).catch(() => undefined);
      if (!each.asked || !mayAnswer(each)) continue;
      const did = await answer(lab, played, each).catch(() => true);
      if (did) answered.set(each.filingId, (answered.get(each.filingId) ?? 0) + 1);
    }
  }
}

/** Both persons answer a question by what the authority has. @returns false: nothing can be said yet */
async function answer(lab: Lab, played: Played, filing: Open): Promise<boolean> {
  const { filingId: reference } = filing;
  const { certificates } = await lab.account(played.company);
  const pending = [...(await lab.stage.sandbox.state()).pending].some(
    ({ customerId }) => customerId === played.company.exporterId,
  );
  if (pending) return false;
  const free = new Map<number, Certificate>();
  for (const row of filing.rows.filter(({ state }) => state === 'sent' || state === 'planned')) {
    const found = certificates.find((each) => isOf(each, row) && ![...free.values()].includes(each));
    if (found) free.set(row.row, found);
  }
  const named = [...free].map(([row, { eBRCNumber }]) => ({ row, eBRCNumber }));
  const kind = named.length > 0 ? 'certificate' : filing.state === 'awaiting_approval' ? 'approve' : 'not filed';
  for (const by of lab.people.keys()) await say(lab, played, { reference, kind, by, certificates: named });
  return true;
}

const isOf = (certificate: Certificate, { irm, document }: Open['rows'][number]): boolean =>
  certificate.irmNumber === irm && certificate.sbCumInvoiceNumber === document && certificate.eBRCStatus === 'Issued';

/** Ends in the ledger and in Temporal what a plan left open, so that it costs the next plans nothing. */
export async function clearAway({ stage }: Lab, { company }: Played): Promise<void> {
  const { rows } = await stage.pool.query<{ id: string }>(
    `WITH open AS (
       UPDATE filings SET state = 'abandoned', attention = NULL, asked = false, due_at = NULL, pause = NULL
        WHERE exporter_id = $1 AND closed_at IS NULL
       RETURNING filing_id, workflow_id),
     freed AS (UPDATE filing_rows SET state = 'released' WHERE filing_id IN (SELECT filing_id FROM open) AND state IN ('planned', 'sent')),
     over AS (UPDATE attempts SET ended_at = clock_timestamp(), verdict = CASE WHEN verdict IN ('sending', 'unknown') THEN 'not_filed' ELSE verdict END
        WHERE exporter_id = $1)
     SELECT workflow_id AS id FROM open`,
    [company.exporterId],
  );
  for (const { id } of rows)
    await stage.temporal.workflow
      .getHandle(id)
      .terminate('the plan is over')
      .catch(() => undefined);
}
