export interface Queued {
  filingId: string;
  exporterId: string;
  calls: number;
}

/** `place` of `of` filings, from 1; `windows`: until its last call may be made, if nothing else takes the slots. */
export interface QueuePlace {
  place: number;
  of: number;
  windows: number;
}

/** One rate class: exporters take turns. @param queued in order of arrival @param limit calls in a window */
export function queuePlaces(queued: readonly Queued[], limit: number): Map<string, QueuePlace> {
  const totals = new Map<string, number>();
  const own = queued.map(({ filingId, exporterId, calls }) => {
    const last = (totals.get(exporterId) ?? 0) + calls;
    totals.set(exporterId, last);
    return { filingId, last };
  });
  // Until a filing's last call, each exporter has had as many as it, or all that it needs.
  const callsUntil = (last: number) => [...totals.values()].reduce((sum, all) => sum + Math.min(all, last), 0);
  const ordered = own
    .map(({ filingId, last }) => ({ filingId, calls: callsUntil(last) }))
    .sort((one, other) => one.calls - other.calls);
  return new Map(
    ordered.map(({ filingId, calls }, index) => {
      const windows = Math.floor(Math.max(calls - 1, 0) / limit);
      return [filingId, { place: index + 1, of: ordered.length, windows }];
    }),
  );
}
