import type { FaultedOperation } from '../faults/fault-schema';

export interface CallRecord {
  seq: number;
  /** ISO 8601 on the sandbox clock, and real milliseconds since 1970. */
  at: string;
  realMs: number;
  operation: FaultedOperation;
  method: string;
  path: string;
  /** `dev_` or `prod_` with the platform that owns the key; `extraction`, `none` or `unknown`. */
  key: string;
  /** Whether the connection had carried a request before. */
  reusedConnection: boolean;
  /** HTTP status of what was sent; null while unanswered and when no answer was sent. */
  status: number | null;
  errorCode: string | null;
  faults: string[];
  platformCustomerId: string | null;
  requestId: string | null;
  /** Fingerprints of the mappings in a submission. */
  mappings: string[];
}

/** The oldest entries go first when there are more than this. */
const KEPT = 200_000;

export class CallLog {
  private records: CallRecord[] = [];
  private seq = 0;

  add(start: Omit<CallRecord, 'seq'>): CallRecord {
    const record = { seq: ++this.seq, ...start };
    this.records.push(record);
    if (this.records.length > KEPT) this.records = this.records.slice(KEPT / 10);
    return record;
  }

  list({ operation, since = 0 }: { operation?: string; since?: number } = {}): CallRecord[] {
    return this.records.filter(
      (record) => record.seq > since && (operation === undefined || record.operation === operation),
    );
  }

  clear(): void {
    this.records = [];
  }
}
