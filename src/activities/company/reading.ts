/** What one reading comes to, and how a failed call is recorded instead of failing its activity. */
import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApiError } from '../../api/errors/api-error';
import { isErrorKind, type ErrorKind } from '../../domain/service/error-kinds';
import type { Company } from '../../ledger/exporters/exporters';
import { beginReading, endReading } from '../../ledger/readings';
import type { FailureDetails } from '../application-failure';
import { keepTrying } from '../call-context';
import type { Deps } from '../dependencies';

/** A call that failed, by the kinds that retries and pauses go by. */
export interface CallFailed {
  kind: ErrorKind;
  message: string;
  credentialsVersion?: number;
}

export interface CompanyRead {
  /** `under_way`: another reading of the company is; `failed`: a call failed, and the reading says so. */
  state: 'read' | 'under_way' | 'failed';
  /** Whether the certificates were read whole up to today, and the client's IRMs; null: not read. */
  whole: boolean | null;
  irmsWhole: boolean | null;
  /** Why something was not read whole; null although `whole` is false: a part of the history was. */
  problem: string | null;
  /** The first call that failed. */
  failure: CallFailed | null;
  /**
   * The days whose certificates were listed, YYYY-MM-DD, when that began (epoch ms), and whether nothing was missing;
   * null: none were.
   */
  read: { from: string; to: string; readAt: number; whole: boolean } | null;
}

/** A reading under the company's lease: `work` makes the calls and ends it. @throws what `work` throws */
export async function underLease(
  { pool, logger }: Deps,
  company: Company,
  work: (reading: { readingId: string; beganAt: Date }) => Promise<CompanyRead>,
): Promise<CompanyRead> {
  const { activityId, workflowExecution } = Context.current().info;
  const reading = await beginReading(pool, company, `${workflowExecution?.runId}/${activityId}`);
  const nothing = { whole: null, irmsWhole: null, failure: null, read: null };
  if (!reading) return { ...nothing, state: 'under_way', problem: 'another reading is under way' };
  try {
    return await work(reading);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const ended = { from: null, to: null, whole: null, irmsWhole: null, problem };
    // Where the ledger is away, it is ended when that is back: others wait for it ten minutes, and this activity may
    // have been its last try.
    await endReading(pool, reading.readingId, ended).catch(() => {
      const ending = keepTrying(
        async () => void (await endReading(pool, reading.readingId, ended)),
        () => undefined,
      );
      ending.catch((err: unknown) => logger.error({ err }, 'a reading could not be ended'));
    });
    throw error;
  }
}

/** The result of a reading whose lease was given up meanwhile. */
export const TOOK_TOO_LONG: CompanyRead = {
  ...{ state: 'failed', whole: false, irmsWhole: false, failure: null, read: null },
  problem: 'it took longer than ten minutes, and another reading may have begun',
};

/** Makes calls. @returns the failure of one @throws a cancellation, an unavailable ledger, or a defect */
export async function failureOfCalls(calls: () => Promise<void>): Promise<CallFailed | null> {
  try {
    await calls();
    return null;
  } catch (error) {
    if (error instanceof ApiError) {
      const { kind, message, credentialsVersion } = error;
      if (kind !== 'cancelled' && kind !== 'ledger_unavailable') return { kind, message, credentialsVersion };
    }
    // Our own refusal to call with credentials that are known to be bad.
    if (error instanceof ApplicationFailure && isErrorKind(error.type)) {
      const [details] = (error.details ?? []) as Partial<FailureDetails>[];
      return { kind: error.type, message: error.message, credentialsVersion: details?.credentialsVersion };
    }
    throw error;
  }
}

export const textOfFailure = ({ kind, message }: CallFailed): string => `${kind}: ${message}`;
