import { partsOf, type PagedSubmission } from '../../ledger/filings/filing-pages';
import { inQuestion } from '../../ledger/filings/filing-view';
import { getFiling, type FilingRecord } from '../../ledger/filings/filings';
import { readQuestions } from '../../ledger/questions/questions';
import { expectedAnswerMs } from '../../ledger/submissions/answer-times';
import type { EbrcReaderDependencies } from '../../starter/dependencies';
import { filingBody, type FilingBody } from './filing';

const NO_PARTS = { counts: { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 }, submissions: [] };
const NO_QUESTIONS = new Map<string, never[]>();
/** How long the typical time of an acknowledgement is taken from memory. */
const MEAN_KEPT_MS = 60_000;

/** Reads filings in the form in which the API shows them. */
export interface FilingReader {
  one(filing: FilingRecord): Promise<FilingBody>;
  /** The filing as it is now; null if the ledger does not hold it. */
  again(filingId: string): Promise<FilingBody | null>;
  many(filings: readonly FilingRecord[]): Promise<FilingBody[]>;
}

export function createFilingReader({
  pool,
  mode,
  cadence,
}: Pick<EbrcReaderDependencies, 'pool' | 'mode' | 'cadence'>): FilingReader {
  let mean: { ms: Promise<number>; at: number } | undefined;

  /** How long an acknowledgement takes, as seen lately. */
  async function meanMs(): Promise<number> {
    if (mean && Date.now() - mean.at < MEAN_KEPT_MS) return mean.ms;
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
        return filingBody({
          filing,
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
    async again(filingId) {
      const filing = await getFiling(pool, filingId);
      return filing ? one(filing) : null;
    },
  };
}

/** Whether somebody may be asked about a send of it. */
export const isAsked = ({ state }: FilingRecord): boolean => state === 'outcome_unknown' || state === 'overdue';
