/** Filings as the API shows them. */
import { z } from 'zod';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { FILING_STATES } from '../../domain/filing/states';
import type { FilingSummary } from '../../domain/filing/view';
import { getFiling, type FilingRecord } from '../../ledger/filings/filing';
import { summaryOf } from '../../ledger/views/lists';
import { countRows } from '../../ledger/views/rows';
import { evidenceNames } from '../../ledger/views/views';
import type { EbrcReaderDependencies } from '../../starter/dependencies';
import { FILING_DATE } from '../http/fields';
import { findingsInApiTerms, inApiTerms } from '../http/problem';

const count = z.number().int();

/** What a rule, the service or the authority says of a row or a filing. */
export const findingSchema = named(
  'CheckFinding',
  z.object({
    severity: z.string(),
    code: z.string(),
    row: z.number().int().nullable(),
    field: z.string().nullable(),
    message: z.string(),
    count: z.number().int().optional().describe('of more_errors and more_warnings: how many are not listed'),
  }),
);

export const filingSchema = named(
  'Filing',
  z.object({
    filingId: z.string(),
    workflowId: z.string(),
    reference: z.string(),
    n: count.describe('number of the filing under its reference'),
    exporterId: z.string(),
    state: z.enum(FILING_STATES).describe('clients must expect new states'),
    stateText: z.string().describe('the state as a sentence'),
    expectedBy: z.string().nullable().describe('when it probably continues'),
    counts: z.object({ rows: count, certified: count, archived: count, errored: count, corrected: count, open: count }),
    attention: z.string().nullable().describe('what somebody should know and do'),
    asked: z.boolean().describe('whether a person can answer now'),
    actions: z.array(z.string()).describe('what may be done next'),
    attempt: count.nullable().describe('the attempt that resolve answers'),
    requestId: z.string().nullable(),
    dgftAckId: z.string().nullable(),
    evidence: z.array(z.string()).describe('what speaks against "not filed", by name'),
    uploadType: count,
    channel: z.enum(['push', 'bulk']),
    declaration: z.enum(['Y', 'N']),
    corrects: z.string().nullable(),
    madeBy: z.string().nullable(),
    madeAt: z.string(),
    approval: z.string().nullable().describe('why it waits, or waited, for an approval'),
    approvedAt: z.string().nullable(),
    contentHash: z.string(),
    errors: z.array(findingSchema),
    warnings: z.array(findingSchema),
    links: z.record(z.string(), z.string()),
  }),
  EXAMPLES.filing,
);

export const rowSchema = named(
  'FilingRow',
  z.object({
    row: z.number().int(),
    serialNo: z.number().int(),
    irmNumber: z.string(),
    sbCumInvoiceNumber: z.string(),
    mappedIRMAmountFCC: z.string(),
    currency: z.string(),
    filingId: z.string(),
    n: z.number().int().describe('the filing of the reference that has the row'),
    state: z.string(),
    eBRCNumber: z.string().nullable(),
    eBRCDate: z.string().nullable().describe(FILING_DATE),
    cancelled: z.string().nullable().describe('the status of its certificate, where that is cancelled: correct it'),
    document: z.string().nullable().describe('file name of the certificate’s PDF in the document store'),
    sha256: z.string().nullable(),
    pdfNote: z.string().nullable().describe('what is odd about the PDF, which opens all the same'),
    errors: z.array(z.string()),
    correctedBy: z.string().nullable().describe('the filing that corrects the row'),
  }),
);

export const filingEventSchema = named(
  'FilingEvent',
  z.object({
    id: z.string().describe('the same as in GET /v1/events, where it is in the feed'),
    filingId: z.string(),
    n: z.number().int(),
    at: z.string(),
    kind: z.string(),
    state: z.string().nullable(),
    who: z.string().nullable(),
    text: z.string(),
  }),
);

export type FilingBody = z.infer<typeof filingSchema>;

/** The schema drops the fields of the summary that the API does not show. */
function filingBody(filing: FilingSummary, evidence: readonly string[], attempt: number | null): FilingBody {
  const root = `/v1/filings/${encodeURIComponent(filing.filingId ?? '')}`;
  return filingSchema.parse({
    ...filing,
    ...{ evidence, attempt },
    expectedBy: filing.waiting?.expectedBy ?? null,
    stateText: stateText(filing),
    attention: filing.attention && inApiTerms(filing.attention),
    errors: findingsInApiTerms(filing.errors),
    warnings: findingsInApiTerms(filing.warnings),
    links: {
      self: root,
      rows: `${root}/rows`,
      events: `${root}/events`,
      evidence: `${root}/evidence`,
      ...(filing.annotated && { workbook: `${root}/workbook` }),
    },
  });
}

/** The state of a filing as a sentence. */
export function stateText({ state, asked, actions, counts }: FilingSummary): string {
  const { rows, certified, archived, errored, open } = counts;
  const correctable = actions.includes('correct');
  const texts: Readonly<Record<string, string>> = {
    checking: 'It is being checked against balances and earlier filings.',
    awaiting_approval: 'It waits for an approval.',
    submitting: 'It is being sent.',
    processing: 'The service took it in; the acknowledgement of the authority is awaited.',
    collecting: `${certified} of ${rows} rows are certified; ${archived} PDFs are stored.`,
    needs_credentials: 'It waits for new portal credentials of the exporter, and then continues by itself.',
    needs_access: 'The service refuses our own key or agreement; it continues by itself once that is fixed.',
    outcome_unknown: asked
      ? 'It is not known whether it was filed: somebody has to look at the portal.'
      : 'It is not known whether it was filed; evidence is being gathered.',
    overdue: `${open > 0 ? 'The acknowledgement is' : `${certified - archived} of ${certified} PDFs are`} overdue and still asked for.`,
    certified: rows === 1 ? 'Its row is certified.' : `All ${rows} rows are certified.`,
    partly_certified: `${certified} of ${rows} rows are certified, ${errored} rejected.`,
    rejected: `The authority rejected every row${correctable ? '; they can be corrected' : ''}.`,
    needs_correction: `Nothing of it was filed${correctable ? ', and it can be corrected' : ''}.`,
    abandoned: 'It was abandoned.',
  };
  return texts[state] ?? state;
}

/** Reads filings in the API's form. */
export function createFilingReader({ pool }: Pick<EbrcReaderDependencies, 'pool'>) {
  async function many(filings: readonly FilingSummary[]): Promise<FilingBody[]> {
    const found = await evidenceNames(
      pool,
      filings.flatMap(({ filingId }) => filingId ?? []),
    );
    return filings.map((filing) => {
      const { names = [], attempt = null } = found.get(filing.filingId ?? '') ?? {};
      return filingBody(filing, names, attempt);
    });
  }

  async function one(filing: FilingRecord): Promise<FilingBody> {
    const counts = await countRows(pool, [filing.filingId]);
    const [body] = await many([summaryOf(filing, counts(filing.filingId))]);
    if (!body) throw new Error('A filing was not read.');
    return body;
  }

  return {
    one,
    many,
    /** The filing as it is now; null if the ledger does not have it. */
    async again(filingId: string): Promise<FilingBody | null> {
      const filing = await getFiling(pool, filingId);
      return filing ? one(filing) : null;
    },
  };
}
