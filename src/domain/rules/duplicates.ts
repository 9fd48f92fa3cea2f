/** What stands against rows, and permissions for exact rows to be filed all the same. */
import { groupBy } from '../values';
import { errorAt, type Finding } from './finding';

export interface PermittedDuplicate {
  /** The Excel row of a workbook, the `serialNo` of a push message. */
  row: number;
  /** The filings and certificates that it may be filed beside; default: all that stand against it. */
  besides?: string[];
  reason: string;
}

/** Something that stands against a row. */
export interface Objection {
  /** Of the row in its filing, from 0. */
  position: number;
  row: number;
  code: string;
  /** What is wrong, without advice. */
  message: string;
  /** The filings and certificates that stand against it. */
  filings: readonly string[];
  certificates: readonly string[];
  /** The outcome of one of the filings is not known: nobody may let the row pass beside it. */
  unknown: boolean;
}

/** What a row is filed beside, and why it was let in; null: the rules allow it. */
export interface LetIn {
  beside: string[];
  reason: string | null;
}

const NOT_KNOWN = 'Its outcome is not known yet: nothing is filed beside it before that.';

/**
 * Lets the permitted rows pass, each with a warning, and refuses the others. An objection by nothing but what an
 * earlier one to the row names is not told: a mapping that is held mostly overdraws its document too.
 * @returns letIn by position
 */
export function judgeObjections(
  all: readonly Objection[],
  permitted: readonly PermittedDuplicate[],
): { findings: Finding[]; letIn: Map<number, LetIn> } {
  const objections = all.filter((one, at) => !all.slice(0, at).some((earlier) => tells(earlier, one)));
  const permits = groupBy(permitted, ({ row }) => String(row));
  const stuck = new Set(objections.filter(({ unknown }) => unknown).map(({ row }) => row));
  const option = allowDuplicate(objections.map(({ row }) => row).filter((row) => !stuck.has(row)));
  const letIn = new Map<number, LetIn>();
  // Hundreds of rows may be refused for the same reason: the first one says what to do.
  const advised = new Set<string>();
  const advising = (message: string, advice: string) => {
    if (advised.has(advice)) return message;
    advised.add(advice);
    return `${message} ${advice}`;
  };
  const findings = objections.map((objection): Finding => {
    const { position, row, code, message, filings, certificates, unknown } = objection;
    const given = permits.get(String(row));
    const against = namesOf(objection);
    const finding = {
      ...errorAt(row, null, code, message),
      ...(filings[0] !== undefined && { filingId: filings[0] }),
      ...(certificates[0] !== undefined && { eBRCNumber: certificates[0] }),
    };
    if (given && !unknown && against.every((name) => given.some(({ besides }) => besides?.includes(name) ?? true))) {
      const reason = [...new Set(given.map((permit) => permit.reason))].join('; ');
      letIn.set(position, { beside: [...(letIn.get(position)?.beside ?? []), ...against], reason });
      return { ...finding, severity: 'warning' };
    }
    if (unknown) return { ...finding, message: advising(message, NOT_KNOWN) };
    if (stuck.has(row)) return finding;
    const advice = `Leave such rows out or correct them. Where a second certificate is meant, --allow-duplicate ${option} asks a second person.`;
    return { ...finding, message: advising(message, advice), allowDuplicate: option };
  });
  return { findings, letIn };
}

const namesOf = ({ filings, certificates }: Objection): string[] => [...filings, ...certificates];

function tells(earlier: Objection, other: Objection): boolean {
  if (earlier.position !== other.position || (other.unknown && !earlier.unknown)) return false;
  const told = namesOf(earlier);
  return namesOf(other).every((name) => told.includes(name));
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
