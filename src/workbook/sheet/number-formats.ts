import { type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import { readXml } from '../ooxml/xml-reader';

/** Meaning of a cell's number format: a date, or a number with leading zeros. */
export interface NumberFormat {
  isDate: boolean;
  /** Width of a format such as `0000000`, else 0. */
  zeros: number;
}

const GENERAL: NumberFormat = { isDate: false, zeros: 0 };

/** Formats that are known only by number; 27 to 36 and 50 to 58 are dates in East Asian versions. */
const BUILT_IN_DATES = [
  [14, 17],
  [22, 22],
  [27, 36],
  [50, 58],
] as const;

/** Number formats by the style index of a cell, from the styles part of a workbook. @throws WorkbookRefused */
export function readNumberFormats(styles: Buffer, limits: WorkbookLimits): (style: number) => NumberFormat {
  const codes = new Map<number, NumberFormat>();
  const formats: NumberFormat[] = [];
  let inCellStyles = false;
  readXml(styles, {
    open: (name, { numFmtId = '0', formatCode = '' }) => {
      if (name === 'numFmt') codes.set(Number(numFmtId), readCode(formatCode));
      else if (name === 'cellXfs') inCellStyles = true;
      else if (name === 'xf' && inCellStyles) formats.push(codes.get(Number(numFmtId)) ?? builtIn(Number(numFmtId)));
      if (formats.length > limits.styles)
        throw new WorkbookRefused(
          'too_many_styles',
          'The workbook has more cell styles than Excel takes. Copy the filled rows into a new workbook and save that.',
        );
    },
    close: (name) => {
      if (name === 'cellXfs') inCellStyles = false;
    },
  });
  return (style) => formats[style] ?? GENERAL;
}

function builtIn(id: number): NumberFormat {
  return { isDate: BUILT_IN_DATES.some(([from, to]) => id >= from && id <= to), zeros: 0 };
}

function readCode(code: string): NumberFormat {
  const bare = withoutLiterals(code);
  return { isDate: /[dy]/i.test(bare) && !/general/i.test(bare), zeros: /^0+$/.test(bare) ? bare.length : 0 };
}

/** Literals, colours and currencies in a format may contain letters that have a meaning outside of them. */
function withoutLiterals(code: string): string {
  let bare = '';
  for (let at = 0; at < code.length; at += 1) {
    const character = code.charAt(at);
    const closing = character === '"' ? '"' : character === '[' ? ']' : undefined;
    if (closing !== undefined) {
      const end = code.indexOf(closing, at + 1);
      // Without an end it is not a literal, and nothing that follows can end one either.
      if (end < 0) return bare + code.slice(at);
      at = end;
    } else if (character === '\\' || character === '_' || character === '*') at += 1;
    else bare += character;
  }
  return bare;
}
