import { WorkbookRefused } from './refused';

/**
 * Brings XML into the form that nearly all spreadsheet programs write: no comments and processing instructions, CDATA as
 * escaped text, no blanks at the end of end tags, and none that only lay tags out. Every reader after this looks at tags and
 * text alone, so a comment can neither hide a row nor add one. Costs no more than the length of the text.
 */
export function tidyXml(source: string): string {
  let xml = source;
  if (/<!--|<!\[CDATA\[|.<\?/s.test(xml)) xml = withoutAsides(xml);
  if (/<\/[^<>\s]+\s+>/.test(xml)) xml = xml.replace(/(<\/[^<>\s]+)\s+>/g, '$1>');
  return withoutLayout(xml);
}

const ASIDES: Readonly<Record<string, string>> = { '<!--': '-->', '<![CDATA[': ']]>', '<?': '?>' };

function withoutAsides(xml: string): string {
  const aside = /<!--|<!\[CDATA\[|<\?/g;
  let tidied = '';
  let read = 0;
  for (let start = aside.exec(xml); start !== null; start = aside.exec(xml)) {
    const [opening] = start;
    const closing = ASIDES[opening] ?? '';
    const inside = start.index + opening.length;
    const end = xml.indexOf(closing, inside);
    if (end < 0) {
      throw new WorkbookRefused('damaged', 'The workbook is cut off or damaged. Open it in Excel and save it anew.');
    }
    const after = end + closing.length;
    // The declaration at the very start stays: it is what a saved part begins with.
    if (start.index > 0 || opening !== '<?') tidied += xml.slice(read, start.index);
    else tidied += xml.slice(read, after);
    if (opening === '<![CDATA[') tidied += escaped(xml.slice(inside, end));
    read = after;
    aside.lastIndex = after;
  }
  return tidied + xml.slice(read);
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** Elements whose text counts even where it is nothing but blanks. */
const TEXT_START = /^<(?:[\w.-]+:)?[tvf](?=[\s>])/;

function withoutLayout(xml: string): string {
  // A replacement that changes nothing copies the text all the same, and a sheet has tens of megabytes of it.
  if (!/[^?]>\s+</.test(xml)) return xml;
  return xml.replace(/>\s+</g, (gap: string, at: number) => {
    // The line end behind the declaration: what is saved again differs from what was read by no more than it must.
    if (xml.charAt(at - 1) === '?') return gap;
    const before = xml.lastIndexOf('<', at);
    const isText =
      xml.startsWith('</', at + gap.length - 1) && TEXT_START.test(xml.slice(before, Math.min(at + 1, before + 80)));
    return isText ? gap : '><';
  });
}

/**
 * The text of an XML part in the encoding that it is in: UTF-8, UTF-16, or the one that it declares. A file that is not in
 * the encoding it says would turn letters of a bill number into others without a word, so it is refused.
 */
export function decodeXml(bytes: Buffer): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new WorkbookRefused(
      'damaged',
      'The text of the workbook cannot be decoded. Open it in Excel and save it anew as .xlsx.',
    );
  }
}

function encodingOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(
    bytes.toString('latin1', 0, 200),
  )?.[1];
  // What declares UTF-16 and is not cannot have been read as it; it is UTF-8 as everywhere.
  return declared === undefined || /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}
