/** What persons say of a filing in the forms of its page. */
import type { DecisionView, FilingView } from '../../domain/filing/view';
import { badRequest } from '../http/problem';

export type Said = Pick<DecisionView, 'kind'> &
  Partial<Pick<DecisionView, 'attempt' | 'requestId' | 'certificates' | 'ends' | 'shown'>>;
/** Whether somebody's answer is recorded already, as after a second click or a lost answer. */
export function isRecorded({ filingId, decisions }: FilingView, by: string, said: Said): boolean {
  const key = ({ kind, attempt, requestId, certificates = [], ends = false, shown = [] }: Said) =>
    JSON.stringify([
      kind,
      attempt || null,
      requestId ?? null,
      certificates,
      ends,
      said.shown ? [...shown].sort() : null,
    ]);
  const own = decisions.filter((each) => each.principal && each.by === by && each.filingId === filingId);
  return own.some((each) => (each.outcome === null || each.outcome === 'carried_out') && key(each) === key(said));
}

/** `2 AB123` in each line. @throws Problem 400 */
export function certificatesOf(text: string): { row: number; eBRCNumber: string }[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [, row, number] = /^(\d{1,5})[\s:=,;]+(\S{1,100})$/.exec(line) ?? [];
      if (row !== undefined && number !== undefined) return { row: Number(row), eBRCNumber: number };
      const detail = `“${line.slice(0, 60)}” names no certificate of a row. Write the row, a blank, and the number, such as: 2 AB12345678`;
      throw badRequest('invalid_field', detail, 'certificates');
    });
}
