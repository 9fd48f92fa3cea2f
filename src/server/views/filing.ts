/** Filings as the API shows them. */
import { z } from 'zod';
import { NO_ROWS, type FilingResult } from '../../domain/contracts';
import { actionsOfFiling, type QuestionView } from '../../domain/filing/questions';
import { FILING_STATES, type FilingState } from '../../domain/filing/states';
import { type PagedSubmission, partsOf } from '../../ledger/filings/filing-pages';
import { type FilingRecord, getFiling } from '../../ledger/filings/filings';
import { findingsInApiTerms, inApiTerms } from '../http/problem';
import { inQuestion } from '../../ledger/filings/filing-view';
import { readQuestions } from '../../ledger/questions/questions';
import { expectedAnswerMs } from '../../ledger/submissions/answer-times';
import type { EbrcReaderDependencies } from '../../starter/dependencies';

const count = z.number().int();

export const filingSchema = z.object({
  filingId: z.string(),
  workflowId: z.string(),
  reference: z.string(),
  n: count.describe('number of the filing under its reference'),
  exporterId: z.string(),
  state: z.enum(FILING_STATES).describe('clients must expect new states'),
  stateText: z.string().describe('the state as a sentence'),
  expectedBy: z.string().nullable().describe('when the acknowledgement is expected, from recent acknowledgement times'),
  counts: z.object({ rows: count, certified: count, archived: count, errored: count, corrected: count, open: count }),
  attention: z.string().nullable(),
  questions: z.array(
    z.object({ id: z.string(), kind: z.string(), text: z.string(), since: z.string(), actions: z.array(z.string()) }),
  ),
  actions: z.array(z.string()).describe('what may be done next'),
  attempt: z.string().nullable().describe('the attempt that resolve answers'),
  submissions: z.array(
    z.object({
      submission: count,
      requests: z.array(z.object({ requestId: z.string(), source: z.string(), state: z.string() })),
    }),
  ),
  uploadType: count,
  channel: z.enum(['push', 'bulk']),
  declaration: z.enum(['Y', 'N']),
  corrects: z.string().nullable(),
  madeBy: z.string().nullable(),
  madeAt: z.string(),
  approvedBy: z.string().nullable(),
  contentHash: z.string(),
  errors: z.array(z.unknown()),
  warnings: z.array(z.unknown()),
  links: z.record(z.string(), z.string()),
});

export type FilingBody = z.infer<typeof filingSchema>;

/** The schema drops the fields of the record that the API does not show. */
function filingBody(
  filing: FilingRecord,
  args: {
    counts: FilingResult['counts'];
    submissions: readonly PagedSubmission[];
    questions: readonly QuestionView[];
    /** The attempt in question. */
    attempt: string | null;
    expectedBy: string | null;
  },
): FilingBody {
  const { questions, ...around } = args;
  const { counts } = around;
  const root = `/v1/filings/${encodeURIComponent(filing.filingId)}`;
  return filingSchema.parse({
    ...filing,
    ...around,
    stateText: stateText(filing, counts),
    attention: filing.attention && inApiTerms(filing.attention),
    questions: questions.map((question) => ({
      ...question,
      text: inApiTerms(question.text),
      actions: question.actions.filter((action) => !COMMANDS_ALONE.includes(action)),
    })),
    actions: actionsOfFiling(filing),
    madeBy: filing.madeBy ?? null,
    madeAt: filing.madeAt.toISOString(),
    errors: findingsInApiTerms(filing.errors),
    warnings: findingsInApiTerms(filing.warnings),
    links: {
      self: root,
      rows: `${root}/rows`,
      events: `${root}/events`,
      evidence: `${root}/evidence`,
      ...(filing.annotated !== null && { workbook: `${root}/workbook` }),
    },
  });
}

/** Actions without a route: permits and withdrawals are made on the command line. */
const COMMANDS_ALONE = ['permit', 'withdraw'];

function stateText({ state, asked, correctable }: FilingRecord, counts: FilingResult['counts']): string {
  const { rows, certified, archived, errored, open } = counts;
  const texts: Readonly<Record<FilingState, string>> = {
    checking: 'It is being checked against balances and earlier filings.',
    awaiting_approval: 'It waits for the approval of somebody other than its maker.',
    submitting: 'It is being sent.',
    processing: 'The service took it in; the acknowledgement of the authority is awaited.',
    collecting: `${certified} of ${rows} rows are certified; ${archived} PDFs are stored.`,
    needs_credentials: 'It waits for new portal credentials of the exporter, and then continues automatically.',
    needs_access: 'The service refuses our own key or agreement; it continues automatically once that is fixed.',
    outcome_unknown: asked
      ? 'It is not known whether it was filed: somebody has to look at the portal.'
      : 'It is not known whether it was filed; evidence is being gathered.',
    overdue: `${open > 0 ? 'The acknowledgement is' : `${certified - archived} of ${certified} PDFs are`} overdue and still asked for.`,
    certified: rows === 1 ? 'Its row is certified.' : `All ${rows} rows are certified.`,
    partly_certified: `${certified} of ${rows} rows are certified; ${errored} were rejected.`,
    rejected: `The authority rejected every row${correctable ? '; they can be corrected' : ''}.`,
    needs_correction: `The service refused it; nothing was filed${correctable ? ', and it can be corrected' : ''}.`,
    abandoned: 'It was abandoned.',
  };
  return texts[state];
}

const NO_PARTS = { counts: NO_ROWS, submissions: [] };
const NO_QUESTIONS = new Map<string, never[]>();
/** How long the mean acknowledgement time is cached. */
const MEAN_CACHED_MS = 60_000;

/** Reads filings in the API's form. */
export function createFilingReader({ pool, mode, cadence }: EbrcReaderDependencies) {
  let mean: { ms: Promise<number>; at: number } | undefined;

  /** The recent mean time until an acknowledgement. */
  async function meanMs(): Promise<number> {
    if (mean && Date.now() - mean.at < MEAN_CACHED_MS) return mean.ms;
    const ms = expectedAnswerMs(pool, mode, cadence);
    mean = { ms, at: Date.now() };
    return ms.catch((error: unknown) => {
      mean = undefined;
      throw error;
    });
  }

  async function expectedBy({ state }: FilingRecord, submissions: readonly PagedSubmission[]): Promise<string | null> {
    const times = submissions.flatMap(({ since }) => (since ? [since.getTime()] : []));
    if (state !== 'processing' || times.length === 0) return null;
    return new Date(Math.min(...times) + (await meanMs())).toISOString();
  }

  async function many(filings: readonly FilingRecord[]): Promise<FilingBody[]> {
    if (filings.length === 0) return [];
    const ids = filings.map(({ filingId }) => filingId);
    const asked = filings.flatMap(({ filingId, questionCount }) => (questionCount > 0 ? [filingId] : []));
    const [parts, questions] = await Promise.all([
      partsOf(pool, ids),
      asked.length > 0 ? readQuestions(pool, asked) : NO_QUESTIONS,
    ]);
    return Promise.all(
      filings.map(async (filing) => {
        const { counts, submissions } = parts.get(filing.filingId) ?? NO_PARTS;
        return filingBody(filing, {
          counts,
          submissions,
          questions: questions.get(filing.filingId) ?? [],
          attempt: isAsked(filing) ? (await inQuestion(pool, filing.filingId)).attempt : null,
          expectedBy: await expectedBy(filing, submissions),
        });
      }),
    );
  }

  async function one(filing: FilingRecord): Promise<FilingBody> {
    const [body] = await many([filing]);
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

/** Whether a person may be asked about one of its sends. */
export const isAsked = ({ state }: FilingRecord): boolean => state === 'outcome_unknown' || state === 'overdue';
