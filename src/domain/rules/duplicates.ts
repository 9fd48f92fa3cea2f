/** Permissions for exact rows to repeat a mapping on purpose. */

export interface PermittedDuplicate {
  /** The Excel row of a workbook, the `serialNo` of a push message. */
  row: number;
  /** Filings with the mapping that the row may exist beside; default: those that the refusal named. */
  besides?: string[];
  reason: string;
}

/** The most rows of one range; a filing has far fewer. */
const MAX_ROWS = 100_000;

/** The value of `--allow-duplicate` for these rows, such as `17,203=REASON` or `17-19=REASON`. */
export function allowDuplicate(rows: readonly number[]): string {
  return `${rowRuns(rows).join(',')}=REASON`;
}

/** Sorted row numbers as text; three or more consecutive ones as a range such as `17-19`. */
export function rowRuns(rows: readonly number[]): string[] {
  const sorted = [...new Set(rows)].sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const row of sorted) {
    const last = runs.at(-1);
    if (last && row === last[1] + 1) last[1] = row;
    else runs.push([row, row]);
  }
  return runs.flatMap(([from, to]) => {
    if (to - from >= 2) return [`${from}-${to}`];
    return from === to ? [`${from}`] : [`${from}`, `${to}`];
  });
}

/** Parses `ROWS=REASON`, with ROWS such as `17,203` or `17-19,203`; null for any other form or an empty reason. */
export function parseAllowDuplicate(text: string): PermittedDuplicate[] | null {
  const [, rows = '', given = ''] = /^([\d\s,-]+)=(.*)$/su.exec(text) ?? [];
  const reason = given.trim();
  if (reason === '') return null;
  const permitted: PermittedDuplicate[] = [];
  for (const part of rows.split(',')) {
    const [, first, last] = /^\s*(\d{1,7})\s*(?:-\s*(\d{1,7})\s*)?$/u.exec(part) ?? [];
    if (first === undefined) return null;
    const [from, to] = [Number(first), Number(last ?? first)];
    if (to < from || to - from >= MAX_ROWS) return null;
    for (let row = from; row <= to; row += 1) permitted.push({ row, reason });
  }
  return permitted;
}

export function permittedRows(permitted: readonly PermittedDuplicate[] = []): Set<number> {
  return new Set(permitted.map(({ row }) => row));
}
