import { WORKBOOK_LIMITS } from './ooxml/limits';
import { cellContent, type CellContent } from './sheet/cell-content';
import { shown } from './sheet/cell-value';
import { openWorkbook } from './sheet/open-workbook';

/** The first worksheet of any workbook as texts, without blank rows. @throws WorkbookRefused with what to do */
export async function readTexts(source: string | Buffer) {
  const { first } = await openWorkbook(source, WORKBOOK_LIMITS);
  const rows: {
    /** Excel row, from 1. */
    row: number;
    /** Displayed texts as typed, by column number from 1, with holes. */
    texts: string[];
  }[] = [];
  for (const { number, cells } of first.sheet.rows()) {
    const texts: string[] = [];
    for (const cell of cells) {
      const text = textOf(cellContent(cell, first.context));
      if (text !== '') texts[cell.column] = text;
    }
    if (texts.length > 0) rows.push({ row: number, texts });
  }
  return rows;
}

function textOf(content: CellContent): string {
  if (content.kind === 'text') return content.typed;
  return content.kind === 'blank' || content.kind === 'unusable' ? '' : shown(content);
}
