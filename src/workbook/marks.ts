import type { Cell, Style, Worksheet } from 'exceljs';
import type { Finding } from '../domain/finding';

/** Marks on cells: a fill and a note. They can be told from the user's own, so that a later run takes them away again. */

const FILLS = { error: 'FFFFC7CE', warning: 'FFFFEB9C' } as const;
const NOTE_START = 'eBRC check:\n';

type Severity = Finding['severity'];

export class CellMarker {
  // exceljs shares one style object between cells: changing it in place would colour the whole column, and a new object per
  // cell would make as many styles.
  private readonly styles = {
    error: new WeakMap<object, Partial<Style>>(),
    warning: new WeakMap<object, Partial<Style>>(),
  };

  mark(cell: Cell, severity: Severity, messages: readonly string[]): void {
    const own = ownText(cell);
    cell.style = this.markedStyle(cell.style, severity);
    cell.note = `${own === '' ? '' : `${own}\n`}${NOTE_START}${messages.join('\n')}`;
  }

  private markedStyle(style: Partial<Style>, severity: Severity): Partial<Style> {
    const known = this.styles[severity].get(style);
    if (known) return known;
    const marked: Partial<Style> = {
      ...style,
      fill: { type: 'pattern', pattern: 'solid', fgColor: { argb: FILLS[severity] } },
    };
    this.styles[severity].set(style, marked);
    return marked;
  }
}

/** Takes the marks of an earlier run from a sheet; notes that a person wrote stay. */
export function clearMarks(sheet: Worksheet): void {
  sheet.eachRow((row) => {
    row.eachCell({ includeEmpty: true }, (cell) => {
      if (!noteText(cell).includes(NOTE_START)) return;
      const own = ownText(cell);
      // The type of `note` has no way to say "none", though that is how exceljs takes one away.
      Object.assign(cell, { note: own === '' ? undefined : own });
      const { fill, ...plain } = cell.style;
      if (fill?.type === 'pattern' && Object.values<string | undefined>(FILLS).includes(fill.fgColor?.argb))
        cell.style = plain;
    });
  });
}

function noteText(cell: Cell): string {
  const { note } = cell as { note?: Cell['note'] };
  if (note === undefined) return '';
  return typeof note === 'string' ? note : (note.texts ?? []).map(({ text }) => text).join('');
}

function ownText(cell: Cell): string {
  return noteText(cell).split(NOTE_START)[0]?.trimEnd() ?? '';
}

/**
 * Text that a person opens, made harmless where a spreadsheet would take it for a formula after a detour through CSV. Only
 * for text that is shown: a value that is filed is never changed.
 */
export function harmless(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
