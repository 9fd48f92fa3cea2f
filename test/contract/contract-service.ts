import type { OtherAccount } from './other-service';

/** What the contract needs of a service behind the worker, whichever it is. */
export interface ContractService {
  name: string;
  url: string;
  apiKey: string;
  /** Two portal accounts, each with remittances in dollars. */
  accounts: readonly [OtherAccount, OtherAccount];
  /** The answer of the next filing with this document is lost, after it was accepted or before. */
  loseAnswer(document: string, accepted: boolean): void;
  /** The authority errors the next row with this document. */
  errorRow(document: string): Promise<void>;
  /** Submissions that reached the service and were accepted. */
  accepted(): Promise<number>;
  /** Rows that were filed twice. */
  filedTwice(): unknown[];
  close(): Promise<void>;
}
