/** What operators and persons do to the filings of a plan; and what is remembered of it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mapping } from '../../src/domain/filing/mapping';
import { filingWorkflowId } from '../../src/domain/names';
import { messageOf } from '../../dev/sample-mapping';
import type { EbrcClient } from '../../src/starter/client';
import { RefusedError, UsageError } from '../../src/starter/errors';
import { reset } from '../disruptions/operators';
import { mappingOf } from '../plan';
import type { Company, Lab } from './lab';
import type { Plan, Step } from './plan';

/** A decision that the ledger took from a person. */
export interface Said {
  reference: string;
  kind: 'not filed' | 'approve' | 'certificate';
  /** 0 or 1: which of the two persons. */
  by: number;
  /** Whether something stood against it, which the person was shown. */
  shown: boolean;
  /** When it was said, epoch ms. */
  at: number;
}

/** A plan that is or was played. */
export interface Played {
  plan: Plan;
  company: Company;
  said: Said[];
  /** When certificates were cancelled at the portal, by number. */
  cancelled: Map<string, number>;
  /** References whose filing the ledger is known to have recorded. */
  recorded: Set<string>;
  /** Steps that were refused, and why: most of a random plan. */
  refused: string[];
}

const referenceOf = ({ company }: Pick<Played, 'company'>, filing: number): string => `${company.iec}-${filing}`;
/** Under which the rows of a filing are filed again. */
const againOf = (played: Played, filing: number): string => `${referenceOf(played, filing)}-again`;

export function rowsOf({ filings }: Plan, filing: number): Mapping[] {
  return (filings[filing]?.rows ?? []).map(({ irm, document, amount }, nth) => ({
    ...mappingOf({ serialNo: nth + 1, irm, document: `INV/26/A-${document}`, amount }),
    // Parts of one document, from several remittances.
    sbCumInvoiceValueinFCC: 100_000,
  }));
}

/** Starts a filing of the plan as a user would, for as long as servers are away. */
export async function file(
  { stage }: Lab,
  played: Played,
  nth: number,
  reference = referenceOf(played, nth),
): Promise<void> {
  const { channel = 'push', approval = false } = played.plan.filings[nth] ?? {};
  const source = { message: messageOf(rowsOf(played.plan, nth)) };
  const request = {
    ...{ source, exporter: played.company.email, reference, channel, madeBy: 'asha' },
    ...(approval && { approval }),
  };
  const isAway = (error: Error) => !(error instanceof RefusedError || error instanceof UsageError);
  const { filing } = await patiently(() => stage.client.file(request), isAway);
  if (filing.filingId !== null) played.recorded.add(reference);
}

const PATIENT_MS = 8_000;
const AGAIN_MS = 400;

/** Tries again for a while, because what is to be decided may come later. */
async function patiently<T>(work: () => Promise<T>, again: (error: Error) => boolean = () => true): Promise<T> {
  for (const until = Date.now() + PATIENT_MS; ;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > until || !again(error as Error)) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

/** What operators and persons do to a filing. */
export async function operate(lab: Lab, played: Played, step: Extract<Step, { filing: number }>): Promise<unknown> {
  const { stage, people } = lab;
  const { company, plan } = played;
  const reference = referenceOf(played, step.filing);
  switch (step.do) {
    case 'reset':
      return reset(
        stage.temporal,
        await workflowOf(lab, reference),
        (tasks) => tasks[step.task % tasks.length] as never,
      );
    case 'terminate':
      return stage.temporal.workflow.getHandle(await workflowOf(lab, reference)).terminate('adversary');
    case 'cancel':
      return stage.temporal.workflow.getHandle(await workflowOf(lab, reference)).cancel();
    case 'resume':
      return stage.client.resume(reference);
    case 'repeat': {
      if (step.run === 'same') return file(lab, played, step.filing);
      const message = messageOf(rowsOf(plan, step.filing));
      const input = { mode: 'test', exporterId: company.exporterId, message, madeBy: 'asha', reference };
      return stage.temporal.workflow.start('fileRemittances', {
        taskQueue: 'ebrc',
        workflowId: `again/${randomUUID()}`,
        args: [input],
      });
    }
    case 'again':
      return fileAgain(lab, played, step);
    case 'correct':
      return patiently(() => correct(lab, played, step));
    case 'abandon':
      return patiently(() => people[0].abandon(reference, { by: 'ravi', note: 'adversary' }));
    case 'approve':
      return sayAll(lab, played, people.length, { reference, kind: 'approve' });
    case 'filed': {
      const requestId = await requestOf(lab, played, step.request);
      return patiently(() => people[0].resolve(reference, { as: 'filed', by: 'ravi', note: 'adversary', requestId }));
    }
    case 'certificate': {
      const certificates = [
        { row: 1, eBRCNumber: (await lab.account(company)).certificates.at(-1)?.eBRCNumber ?? 'EB0' },
      ];
      return sayAll(lab, played, step.persons, { reference, kind: 'certificate', certificates });
    }
    case 'not filed':
      return sayAll(lab, played, step.persons, { reference, kind: 'not filed', ends: step.ends });
  }
}

type Word = Pick<Said, 'reference' | 'kind' | 'by'> & {
  ends?: boolean;
  certificates?: { row: number; eBRCNumber: string }[];
};

/** So many persons say the same, beside each other. */
const sayAll = (lab: Lab, played: Played, persons: number, word: Omit<Word, 'by'>): Promise<unknown> =>
  Promise.all(Array.from({ length: persons }, (_one, by) => patiently(() => say(lab, played, { ...word, by }))));

/** A person looks at a filing and decides. @throws Error where the ledger refuses that */
export async function say({ people }: Pick<Lab, 'people'>, played: Played, word: Word): Promise<void> {
  const { reference, kind, by, ends = false, certificates = [] } = word;
  const person = people[by] as EbrcClient;
  const { evidence, approval, ...view } = await person.show(reference);
  // What is refused in the meantime was not said; what was said may be carried out before the answer is here.
  const said: Said = {
    reference: view.reference ?? reference,
    kind,
    by,
    shown: (evidence?.names.length ?? 0) > 0 || approval === 'duplicate',
    at: Date.now(),
  };
  const more = { by: `person ${by}`, note: 'adversary' };
  if (kind === 'approve') await person.approve(reference, more);
  else if (kind === 'not filed') await person.resolve(reference, { ...more, as: 'not-filed', ends });
  else await person.resolve(reference, { ...more, as: 'filed', certificates });
  played.said.push(said);
}

async function workflowOf({ stage }: Lab, reference: string): Promise<string> {
  const { rows } = await stage.pool.query<{ id: string }>(
    'SELECT workflow_id AS id FROM filings WHERE reference = $1 ORDER BY n DESC LIMIT 1',
    [reference],
  );
  return rows[0]?.id ?? filingWorkflowId('test', reference);
}

async function fileAgain(
  lab: Lab,
  played: Played,
  { filing, permitted }: Extract<Step, { do: 'again' }>,
): Promise<void> {
  const reference = againOf(played, filing);
  const rows = rowsOf(played.plan, filing);
  const allowDuplicate = permitted ? rows.map(({ serialNo }) => ({ row: serialNo, reason: 'adversary' })) : [];
  const source = { message: messageOf(rows) };
  await lab.stage.client.file({
    source,
    exporter: played.company.email,
    reference,
    channel: 'push',
    madeBy: 'asha',
    allowDuplicate,
  });
  if (permitted) await sayAll(lab, played, lab.people.length, { reference, kind: 'approve' });
}

async function correct({ stage }: Lab, played: Played, { filing, change }: Extract<Step, { do: 'correct' }>) {
  const changed = rowsOf(played.plan, filing).map((row) => ({
    ...row,
    ...(change === 'amount' && { mappedIRMAmountFCC: row.mappedIRMAmountFCC + 1 }),
    ...(change === 'bill' && { billNo: `${row.billNo}/2` }),
    ...(change === 'document' && { sbCumInvoiceNumber: `${row.sbCumInvoiceNumber}-C` }),
  }));
  const source = { message: messageOf(changed) };
  return stage.client.correct({ filing: referenceOf(played, filing), source, madeBy: 'asha' });
}

/** A request of the company: the newest or the oldest one that the service has, or one that nobody has. */
async function requestOf({ stage }: Lab, { company }: Played, which: 'own' | 'other' | 'made up'): Promise<string> {
  const { filings } = await stage.sandbox.state();
  const own = [...filings.values()].filter(({ customerId }) => customerId === company.exporterId);
  const found = which === 'own' ? own.at(-1) : own[0];
  return which === 'made up' || !found ? randomUUID() : found.requestId;
}
