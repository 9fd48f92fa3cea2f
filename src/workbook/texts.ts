import { WORKBOOK_LIMITS } from './ooxml/limits';
import { cellContent } from './sheet/cell-content';
import { shown, textProblem } from './sheet/cell-value';
import { openWorkbook } from './sheet/open-workbook';

/** Reads the first sheet of any workbook as texts, without blank rows. @throws WorkbookRefused that says what to do */
export async function readTexts(source: string | Buffer) {
  const { first } = await openWorkbook(source, WORKBOOK_LIMITS);
  const rows: {
    /** Excel row, from 1. */
    row: number;
    /** Displayed texts, with their spaces, by column number from 1 (sparse). */
    texts: string[];
    /** Why a cell's text is not what was typed or is displayed, by column; without the value. */
    problems: string[];
  }[] = [];
  for (const { number, cells } of first.sheet.rows()) {
    const texts: string[] = [];
    const problems: string[] = [];
    for (const cell of cells) {
      const content = cellContent(cell, first.context);
      if (content.kind === 'blank') continue;
      if (content.kind !== 'unusable') texts[cell.column] = content.kind === 'text' ? content.typed : shown(content);
      const problem = textProblem(content);
      if (problem !== undefined) problems[cell.column] = problem;
    }
    if (texts.length + problems.length > 0) rows.push({ row: number, texts, problems });
  }
  return rows;
}
