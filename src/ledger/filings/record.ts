/** Records what is to be filed, before anything is sent. */
import type pg from 'pg';
import type { z } from 'zod';
import type { fileInput } from '../../domain/contracts';
import type { MappingRow } from '../../domain/filing/mapping';
import type { Mode } from '../../domain/names';
import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import type { Maker } from './inputs';

/** What is to be recorded. */
export interface Recording {
  /** The parsed input. */
  input: Pick<z.output<typeof fileInput>, 'mode' | 'exporterId' | 'n' | 'corrects' | 'approval'>;
  reference: string;
  rows: readonly MappingRow[];
  uploadType: number;
  declaration: 'Y' | 'N';
  channel: 'push' | 'bulk';
  contentHash: string;
  /** Null: the rows are stored with the filing. */
  inputRef: string | null;
  workflowId: string;
  run: string | null;
  warnings: readonly Finding[];
  allowDuplicate: readonly PermittedDuplicate[];
  maker: Maker;
  settings: { overdueAfterMs: number };
}

export type Recorded =
  | { outcome: 'recorded'; filingId: string }
  /** The same content stands under the reference and number: nothing new was recorded. */
  | { outcome: 'standing'; filingId: string }
  /** `recorded`: the filing that stands under the reference. */
  | { outcome: 'refused'; findings: Finding[]; contentHash: string | null; recorded: string | null };

export function recordFiling(_pool: pg.Pool, _recording: Recording): Promise<Recorded> {
  throw new Error('not written yet');
}

/** What recording and reserving these rows would say now, without doing either. */
export function previewFiling(
  _db: Queryable,
  _filing: {
    mode: Mode;
    exporterId: string;
    rows: readonly MappingRow[];
    allowDuplicate?: readonly PermittedDuplicate[];
    /** The filing that they would correct. */
    corrects?: string | null;
  },
): Promise<Finding[]> {
  throw new Error('not written yet');
}
