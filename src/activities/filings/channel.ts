import type { Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import type { RateClass } from '../../domain/names';

/** From this many rows one workbook loads the service less than one JSON message. */
const ROWS_FOR_BULK = 200;
/** Rows from which a workbook is worth making when pushes are queueing and uploads are not. */
const ROWS_FOR_BULK_WHEN_BUSY = 20;

/** How busy a rate class is: calls waiting for a slot. */
export type Queueing = ReadonlyMap<RateClass, number>;

export interface Channel {
  channel: 'push' | 'bulk';
  warnings: Finding[];
}

/**
 * The channel of a filing. Bulk wherever an optional workbook column is filled, because the JSON items cannot carry it;
 * `auto` also for many rows, and for a good few while pushes queue and uploads do not; push otherwise.
 */
export async function chooseChannel(
  asked: 'auto' | 'push' | 'bulk',
  rows: readonly MappingRow[],
  queueing: () => Promise<Queueing>,
): Promise<Channel> {
  const extra = rows.find((row) => row.extra && Object.keys(row.extra).length > 0);
  if (extra) {
    const columns = Object.keys(extra.extra ?? {}).join(', ');
    const message = `The bulk channel is used, not push: ${columns} is filled, and push messages have no such field.`;
    const forced: Finding = { severity: 'warning', code: 'bulk_forced', row: extra.row, field: null, message };
    return { channel: 'bulk', warnings: asked === 'push' ? [forced] : [] };
  }
  if (asked !== 'auto') return { channel: asked, warnings: [] };
  if (rows.length >= ROWS_FOR_BULK) return { channel: 'bulk', warnings: [] };
  if (rows.length < ROWS_FOR_BULK_WHEN_BUSY) return { channel: 'push', warnings: [] };
  const waiting = await queueing();
  const relief = (waiting.get('push') ?? 0) > 0 && (waiting.get('bulk') ?? 0) === 0;
  return { channel: relief ? 'bulk' : 'push', warnings: [] };
}
