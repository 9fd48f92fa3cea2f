import type { WorkbookLimits } from '../ooxml/limits';
import { WorkbookRefused } from '../ooxml/refused';
import { readXml } from '../ooxml/xml-reader';

/**
 * The shared strings in the order of their numbers, without phonetic guides for East Asian text.
 * @throws WorkbookRefused (`damaged`, `xml_entities`, `too_many_cells`, `too_long`)
 */
export function readSharedStrings(bytes: Buffer, { sharedStrings: most, cellText }: WorkbookLimits): string[] {
  const strings: string[] = [];
  let text: string | undefined;
  let inText = false;
  let aids = 0;
  readXml(bytes, {
    open: (name) => {
      if (name === 'si') text = '';
      else if (name === 'rPh') aids += 1;
      else if (name === 't') inText = true;
    },
    text: (piece) => {
      if (!inText || aids > 0 || text === undefined) return;
      text += piece;
      if (text.length > cellText)
        throw new WorkbookRefused(
          'too_long',
          'A cell holds more text than a cell of Excel can. Shorten it and save the workbook.',
        );
    },
    close: (name) => {
      if (name === 't') inText = false;
      else if (name === 'rPh') aids -= 1;
      else if (name === 'si') {
        strings.push(text ?? '');
        text = undefined;
        if (strings.length > most)
          throw new WorkbookRefused(
            'too_many_cells',
            'The workbook has more texts than are read. Copy the filled rows into a new workbook and save that.',
          );
      }
    },
  });
  return strings;
}
