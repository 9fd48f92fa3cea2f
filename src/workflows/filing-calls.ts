/** The calls of a filing's run: each kind of `next` that is done outside of the ledger. */
import type { Advanced, AdvanceArgs } from '../activities/filings/advance';
import type { CompanyRead } from '../activities/read-company';
import type { Next } from '../domain/filing/facts';
import { calls } from './activity-profiles';

export type Done = Pick<AdvanceArgs, 'called' | 'failure'> & { begun?: boolean };
type Outside = Exclude<Next['do'], 'wait' | 'end' | 'check' | 'reserve'>;

/** Makes the call that is next. @throws what failed, for the run to record */
export async function makeCall(advanced: Advanced, next: Next): Promise<Done> {
  const make = CALLS[next.do as Outside] as ((advanced: Advanced, next: never) => Promise<Done | null>) | undefined;
  // A step of a newer build: it is looked at again.
  if (!make) return { called: 'wait', failure: null };
  return (await make(advanced, next as never)) ?? { called: next.do, failure: null };
}

const CALLS: { [Kind in Outside]: (advanced: Advanced, next: Extract<Next, { do: Kind }>) => Promise<Done | null> } = {
  async readExporter({ exporterId }, { summary }) {
    await calls('helpful', { summary, rateClass: 'api', exporterId, priorityKey: 2 }).readExporter({ exporterId });
    return null;
  },

  async read({ exporterId, filingId }, { what, summary, priority }) {
    const rateClass = what === 'irms' ? 'irm-refresh' : 'details';
    const about = { summary, rateClass, exporterId, priorityKey: priority } as const;
    const args = { exporterId, what, filingId: filingId ?? undefined };
    const read = (await calls('api', about).readCompany(args)) as CompanyRead | null;
    // Completed by hand: nothing was read, and the ledger knows it.
    return { called: 'read', failure: read?.failure ?? null };
  },

  async submit({ exporterId, filingId, told }, { n, channel, summary }) {
    const about = { summary, rateClass: channel, exporterId, priorityKey: 3 } as const;
    const time = { epoch: told?.epoch ?? '', beat: told?.beat ?? 0, at: told?.at };
    const args = { filingId: filingId ?? '', exporterId, n, time };
    const { submitPush, submitBulk } = calls('submit', about);
    const submitted = await (channel === 'push' ? submitPush(args) : submitBulk(args));
    // Completed by hand in the UI: nothing is known of it.
    return { called: 'submit', failure: submitted?.failure ?? null, begun: submitted?.begun ?? true };
  },

  async poll({ exporterId, filingId, now }, { until, summary }) {
    const about = { summary, rateClass: 'api', exporterId, priorityKey: 3 } as const;
    await calls('poll', about).pollStatus({ filingId: filingId ?? '', exporterId, until, since: now });
    return null;
  },

  async collect({ exporterId }, { certificates, until, summary }) {
    const about = { summary, rateClass: 'pdf', exporterId, priorityKey: 3 } as const;
    const { downloadCertificate } = calls('api', about);
    const outcomes = await Promise.allSettled(
      certificates.map((eBRCNumber) => downloadCertificate({ exporterId, eBRCNumber, until })),
    );
    // What others fetched is kept; the failure of one is the call's.
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    return null;
  },

  async annotate({ filingId }, { summary }) {
    await calls('document', summary).annotateFiling({ filingId: filingId ?? '' });
    return null;
  },
};
