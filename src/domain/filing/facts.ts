/** What is known of a filing, and what its run does next. Times are epoch ms, by PostgreSQL's clock. */
import type { FilingState, RowState, Verdict } from './states';

/** The ledger's time. A lower one, or another epoch, means that the ledger went back or that its server changed. */
export interface LedgerTime {
  epoch: string;
  beat: number;
  /** When the beat was raised, by which a lost one is told from the next with its number. */
  at?: number;
}

/** The highest attempt that a run was told to make, and the ledger's time then. Only ever a reason not to send. */
export interface Told extends LedgerTime {
  n: number;
  /** The ledger went back since, and the attempt could not be inserted as unknown yet. */
  lost?: true;
}

/** Why a filing pauses before its next call. */
export type PauseReason = 'credentials' | 'access' | 'activation' | 'failure';

export interface AttemptFacts {
  number: number;
  verdict: Verdict;
  reason: string | null;
  markedAt: number;
  /** When its settle time is over by the clock, and whether it is over by clock and beats. */
  settlesAt: number;
  settled: boolean;
  /** Until when an answer of its process may still come. */
  answerBy: number;
  requestId: string | null;
  /** The service denies the request, or reports it Errored without a list, or acknowledged it as Failed. */
  denied: boolean;
  /** The service does not list the request, and never did. */
  unlisted: boolean;
  /** The authority is done with its request, although rows may lack their certificates' details; since when. */
  doneAt: number | null;
  /** When the names of its evidence were last written; null: never. */
  judgedAt: number | null;
  evidence: readonly string[];
}

export interface Facts {
  now: number;
  settleMs: number;
  /** The ledger is the one that Temporal knows: sending is allowed. */
  ledgerWhole: boolean;
  filing: {
    state: FilingState;
    closed: boolean;
    exporterId: string;
    iec: string | null;
    channel: 'push' | 'bulk';
    approval: string | null;
    approved: boolean;
    /** Two persons let it be sent although the certificates cannot be read. */
    unreadApproved: boolean;
    dueAt: number | null;
    reservedAt: number | null;
    checkedAt: number | null;
    /** Whether the file came as a workbook whose annotated copy is still to be written. */
    toAnnotate: boolean;
  };
  pause: { reason: PauseReason; until: number; tries: number; text: string; over: boolean } | null;
  rows: Record<RowState, number>;
  /** Freed rows wait for a correction. */
  toCorrect: boolean;
  /** Rows whose certificate's number the record names, but whose details are not read or contradict. */
  rowsWithoutDetails: number;
  /** The attempt that may have arrived; null: none may. */
  attempt: AttemptFacts | null;
  /** The number of the last attempt; 0: none was made. */
  attempts: number;
  /** The last attempt's verdict and reason, whatever it is. */
  last: Pick<AttemptFacts, 'verdict' | 'reason'> | null;
  /** Requests of the filing, of any attempt, whose rows' outcomes are not all known. */
  openRequests: number;
  readings: {
    /** When the last whole reading of the company's certificates began; null: there was none. */
    wholeAt: number | null;
    /** When the last reading of the certificates ended, whole or not. */
    endedAt: number | null;
    /** When the client's IRMs were last read. */
    irmsAt: number | null;
    /** Somebody reads them now. */
    underWay: boolean;
    /** Readings that failed or were not whole, in a row, and since when. */
    failures: number;
    failingSince: number | null;
    /** How often it is worth reading while outcomes are unknown, ms. */
    everyMs: number;
  };
  /** What stands against sending it, by name; approvals were subtracted. Null: not asked for. */
  against: { names: readonly string[]; readAfter: number } | null;
  /** An outage: nothing is sent before a live read of any exporter succeeds. */
  breaker: boolean;
  /** Decisions that wait for a reading or a second person; the newest one's time. */
  decidedAt: number | null;
  pdfs: { missing: number; due: readonly string[]; nextAt: number | null };
}

/** What a run does next. `until`: when it asks again at the latest. */
export type Next =
  | { do: 'check' }
  | { do: 'reserve' }
  | { do: 'readExporter'; summary: string }
  | { do: 'read'; what: 'both' | 'certificates' | 'irms'; summary: string; priority: 1 | 2 }
  | { do: 'submit'; n: number; channel: 'push' | 'bulk'; summary: string }
  | { do: 'poll'; until: number; summary: string }
  | { do: 'collect'; certificates: readonly string[]; until: number; summary: string }
  | { do: 'annotate'; summary: string }
  | { do: 'wait'; until: number; summary: string }
  | { do: 'end' };

/** The next step, and how the filing stands meanwhile. */
export interface Decided {
  next: Next;
  state: FilingState;
  /** What somebody should know and do; null: nobody needs to do anything. */
  attention: string | null;
  /** A person can answer now. */
  asked: boolean;
  /** One line for the filing's story, where the state changes. */
  text: string;
}
