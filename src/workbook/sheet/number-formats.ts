import { attribute } from '../ooxml/xml-text';

/** What the number format of a cell says about its number: a date, or a width of leading zeros. */
export interface NumberFormat {
  isDate: boolean;
  /** Width of a format such as `0000000`, else 0. */
  zeros: number;
}

const GENERAL: NumberFormat = { isDate: false, zeros: 0 };

/** Formats that every program knows by number alone; 27 to 36 and 50 to 58 are dates in East Asian versions. */
const BUILT_IN_DATES = [
  [14, 17],
  [22, 22],
  [27, 36],
  [50, 58],
] as const;

/** Number formats by the style index of a cell, from the styles part of a workbook. */
export function readNumberFormats(styles: string): (style: number) => NumberFormat {
  const codes = new Map<number, string>();
  for (const [tag] of styles.matchAll(/<numFmt\s[^<>]*>/g))
    codes.set(Number(attribute(tag, 'numFmtId')), attribute(tag, 'formatCode') ?? '');
  const start = styles.indexOf('<cellXfs');
  const cellStyles = start < 0 ? '' : styles.slice(start, styles.indexOf('</cellXfs>', start));
  const formats = [...cellStyles.matchAll(/<xf(?=[\s/>])[^<>]*>/g)].map(([tag]) => {
    const id = Number(attribute(tag, 'numFmtId') ?? 0);
    const code = codes.get(id);
    return code === undefined
      ? { isDate: BUILT_IN_DATES.some(([from, to]) => id >= from && id <= to), zeros: 0 }
      : readCode(code);
  });
  return (style) => formats[style] ?? GENERAL;
}

/** Literals, colours and currencies in a format may contain letters that mean something else outside of them. */
function readCode(code: string): NumberFormat {
  const bare = code.replace(/"[^"]*"|\\.|[_*].|\[[^\]]*\]/g, '');
  return { isDate: /[dy]/i.test(bare) && !/general/i.test(bare), zeros: /^0+$/.exec(bare)?.[0].length ?? 0 };
}
