import { SaxesParser } from 'saxes';
import { damaged, declaresEntities, WorkbookRefused } from './limits';

/** The encoding of an XML part: UTF-8, UTF-16, or the declared one. */
function encodingOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(
    bytes.toString('latin1', 0, 200),
  )?.[1];
  // The declaration was readable byte by byte, so the part is not UTF-16, whatever it declares.
  return declared === undefined || /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}

/** Callbacks for reading a part. Names come without the root element's prefix. */
export interface XmlHandler {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  close?: (name: string) => void;
  /** Text between tags, with decoded entities and CDATA. */
  text?: (text: string) => void;
}

/** Far more than spreadsheet programs write. */
const MAX_DEPTH = 100;
const MAX_ATTRIBUTES = 500;
/** Characters of a tag's attributes together. A list of 8,192 ranges has about 70,000. */
const MAX_ATTRIBUTE_CHARACTERS = 200_000;
const CHUNK = 64 * 1024;

/** Reads an XML part in linear time; a handler may throw to stop. @throws WorkbookRefused (damaged, entities) */
export function readXml(bytes: Buffer | undefined, handler: XmlHandler): void {
  if (bytes !== undefined) for (const _ of xmlSteps(bytes, handler)) continue;
}

/** Like {@link readXml}, yielding after each piece of text. @throws WorkbookRefused (`damaged`, `xml_entities`) */
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
  // Programs other than Excel may bind the format's namespace to a prefix.
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

/** Decodes an XML part. Invalid bytes are refused, because letters of a bill number could become others. */
export function decodeXml(bytes: Buffer): string {
  const decoder = decoderOf(bytes);
  return decode(() => decodedWhole(decoder, bytes));
}

/** Decodes in two steps, because Node.js 20 to 24 decode Windows-1252 in one as Latin-1, without dashes and quotes. */
export const decodedWhole = (decoder: ReturnType<typeof decoderOf>, bytes: Buffer): string =>
  decoder.decode(bytes, { stream: true }) + decoder.decode();

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

/** What text-based edits cannot handle: comments, CDATA, a blank in a closing tag, `>` in an attribute, white space. */
const UNTIDY = [/<!--|<!\[CDATA\[|.<\?/s, /<\/[^<>\s]+\s+>/, /=\s*(?:"[^"<>]*>|'[^'<>]*>)/, /[^?]>\s+</];
/** Elements whose text counts even if it is only spaces. */
const TEXT = /^(?:[\w.-]+:)?[tvf]$/;

/**
 * Rewrites XML as most programs write it: no comments, escaped CDATA, no `>` in attributes. Later edits look at tags
 * and text only, so that a comment can neither hide nor add a row. Text that needs no change, or is no XML,
 * is returned unchanged.
 */
export function tidyXml(source: string): string {
  if (!UNTIDY.some((sign) => sign.test(source))) return source;
  const parser = new SaxesParser({ position: false, xmlns: false });
  // A string that grows by small pieces takes many times its length in memory.
  const chunks: Buffer[] = [];
  let waiting = /^<\?xml[^>]*>\s*/.exec(source)?.[0] ?? '';
  const add = (piece: string) => {
    waiting += piece;
    if (waiting.length < CHUNK) return;
    chunks.push(Buffer.from(waiting));
    waiting = '';
  };
  let element = '';
  parser.on('opentag', ({ name, attributes, isSelfClosing }) => {
    element = name;
    const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value, IN_ATTRIBUTE)}"`);
    add(`<${name}${written.join('')}${isSelfClosing ? '/>' : '>'}`);
  });
  parser.on('closetag', ({ name, isSelfClosing }) => {
    if (!isSelfClosing) add(`</${name}>`);
    element = '';
  });
  const addText = (text: string) => {
    if (text.trim() !== '' || TEXT.test(element)) add(escaped(text, IN_TEXT));
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  try {
    parser.write(source).close();
  } catch {
    return source;
  }
  return Buffer.concat([...chunks, Buffer.from(waiting)]).toString();
}

const IN_TEXT = /[&<>\r]/g;
/** Readers turn line ends and tabs in attributes into blanks. */
const IN_ATTRIBUTE = /[&<>"\r\n\t]/g;
const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string, special: RegExp): string =>
  text.replace(special, (character) => NAMED[character] ?? `&#${character.charCodeAt(0)};`);
