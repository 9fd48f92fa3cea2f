import { SaxesParser } from 'saxes';
import { damaged, declaresEntities, WorkbookRefused } from './limits';

/** The encoding of an XML part: UTF-8, UTF-16, or the one that it declares. */
function encodingOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(
    bytes.toString('latin1', 0, 200),
  )?.[1];
  // A part that declares UTF-16 but is not cannot have been read as UTF-16, so it is UTF-8.
  return declared === undefined || /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}

/** Callbacks for reading a part. Names come without the prefix of the root element. */
export interface XmlHandler {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  close?: (name: string) => void;
  /** Text between tags, with decoded entities and CDATA. */
  text?: (text: string) => void;
}

/** Far more than spreadsheet programs write. */
const MAX_DEPTH = 100;
const MAX_ATTRIBUTES = 500;
/** Characters of all attributes of one tag; a list of 8,192 ranges has about 70,000. */
const MAX_ATTRIBUTE_CHARACTERS = 200_000;
const CHUNK = 64 * 1024;

/** Reads an XML part in linear time; a handler may throw to stop. @throws WorkbookRefused (damaged, entities) */
export function readXml(bytes: Buffer | undefined, handler: XmlHandler): void {
  if (bytes !== undefined) for (const _ of xmlSteps(bytes, handler)) continue;
}

/** As {@link readXml}, yielding after each piece of the text. @throws WorkbookRefused (`damaged`, `xml_entities`) */
export function* xmlSteps(bytes: Buffer, handler: XmlHandler): Generator<void, void> {
  const parser = parserFor(handler);
  for (const text of textPieces(bytes)) {
    guarded(() => parser.write(text));
    yield;
  }
  guarded(() => parser.close());
  yield;
}

function parserFor({ open, close, text }: XmlHandler) {
  const parser: SaxesParser<{ position: false; xmlns: false }> = new SaxesParser({ position: false, xmlns: false });
  // Programs other than Excel may bind the namespace of the format to a prefix.
  let prefix: string | undefined;
  let depth = 0;
  let attributes = 0;
  let attributeText = 0;
  const local = (name: string) => (prefix && name.startsWith(prefix) ? name.slice(prefix.length) : name);
  parser.on('doctype', () => {
    throw declaresEntities();
  });
  parser.on('opentagstart', () => {
    attributes = 0;
    attributeText = 0;
  });
  parser.on('attribute', ({ value }) => {
    attributes += 1;
    attributeText += value.length;
    if (attributes > MAX_ATTRIBUTES || attributeText > MAX_ATTRIBUTE_CHARACTERS) throw damagedXml();
  });
  parser.on('opentag', (tag) => {
    depth += 1;
    if (depth > MAX_DEPTH) throw damagedXml();
    prefix ??= tag.name.slice(0, tag.name.indexOf(':') + 1);
    open?.(local(tag.name), tag.attributes);
  });
  parser.on('closetag', (tag) => {
    depth -= 1;
    close?.(local(tag.name));
  });
  if (text) {
    parser.on('text', text);
    parser.on('cdata', text);
  }
  return parser;
}

function guarded(step: () => void): void {
  try {
    step();
  } catch (error) {
    throw error instanceof WorkbookRefused ? error : damagedXml();
  }
}

function* textPieces(bytes: Buffer): Generator<string> {
  const decoder = decoderOf(bytes);
  for (let at = 0; at < bytes.length; at += CHUNK)
    yield decode(() => decoder.decode(bytes.subarray(at, at + CHUNK), { stream: true }));
  yield decode(() => decoder.decode());
}

/** The text of an XML part in its declared encoding, else refused: letters of a bill number could become others. */
export function decodeXml(bytes: Buffer): string {
  const decoder = decoderOf(bytes);
  return decode(() => decoder.decode(bytes));
}

function decoderOf(bytes: Buffer) {
  return decode(() => new TextDecoder(encodingOf(bytes), { fatal: true }));
}

function decode<T>(step: () => T): T {
  try {
    return step();
  } catch {
    throw damaged('The text of the workbook cannot be decoded');
  }
}

const damagedXml = () => damaged('The workbook is cut off or damaged');

/**
 * XML as most programs write it: no comments, escaped CDATA, no `>` in attributes. Later changes look only at tags and
 * text, so a comment can neither hide nor add a row. Linear in time.
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
