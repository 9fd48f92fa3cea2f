import { damagedXml } from './xml-reader';

/**
 * Normalises XML to the form that nearly all spreadsheet programs write: no comments and processing instructions, CDATA
 * as escaped text, no spaces at the end of end tags or between tags, and no `>` in attributes. Every later change looks
 * only at tags and text, so a comment can neither hide nor add a row. The cost grows linearly with the text.
 */
export function tidyXml(source: string): string {
  let xml = source;
  if (/<!--|<!\[CDATA\[|.<\?/s.test(xml)) xml = withoutAsides(xml);
  if (/<\/[^<>\s]+\s+>/.test(xml)) xml = xml.replace(/(<\/[^<>\s]+)\s+>/g, '$1>');
  if (/=\s*(?:"[^"<>]*>|'[^'<>]*>)/.test(xml)) xml = withoutBrackets(xml);
  return withoutLayout(xml);
}

/** Values of attributes may contain `>`, which a search for the end of a tag would stop at. */
function withoutBrackets(xml: string): string {
  const parts: string[] = [];
  let copied = 0;
  let quote = '';
  let inTag = false;
  for (let at = xml.indexOf('<'); at >= 0 && at < xml.length; at += 1) {
    const character = xml.charAt(at);
    if (!inTag) {
      at = xml.indexOf('<', at);
      if (at < 0) break;
      inTag = true;
    } else if (quote !== '') {
      if (character === quote) quote = '';
      else if (character === '>') {
        parts.push(xml.slice(copied, at), '&gt;');
        copied = at + 1;
      }
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') inTag = false;
  }
  return parts.join('') + xml.slice(copied);
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
    if (end < 0) throw damagedXml();
    const after = end + closing.length;
    // The declaration at the start is kept: a saved part begins with it.
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

/** Elements whose text counts even if it consists of spaces. */
const TEXT_START = /^<(?:[\w.-]+:)?[tvf](?=[\s>])/;

function withoutLayout(xml: string): string {
  // A replacement without effect still copies the text, and a sheet has tens of megabytes of it.
  if (!/[^?]>\s+</.test(xml)) return xml;
  return xml.replace(/>\s+</g, (gap: string, at: number) => {
    // The line end after the declaration is kept: the saved part should differ from the original as little as possible.
    if (xml.charAt(at - 1) === '?') return gap;
    const before = xml.lastIndexOf('<', at);
    const isText =
      xml.startsWith('</', at + gap.length - 1) && TEXT_START.test(xml.slice(before, Math.min(at + 1, before + 80)));
    return isText ? gap : '><';
  });
}
