/** Edits XML text and leaves everything around the edit unchanged. */

// A value may contain `>` but never `<`. Stopping there keeps malicious text linear in cost.
const TAG = /<(\/?)([\w:.-]+)(?=[\s/>])((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/g;

/** Inserts a child before the first of `following`, otherwise last. @param from just inside the parent */
export function insertChild(xml: string, from: number, following: readonly string[], child: string): string {
  const pattern = new RegExp(TAG);
  pattern.lastIndex = from;
  let depth = 0;
  for (let tag = pattern.exec(xml); tag !== null; tag = pattern.exec(xml)) {
    const [, closing, name = '', attributes = ''] = tag;
    if (depth === 0 && (closing === '/' || following.includes(name)))
      return xml.slice(0, tag.index) + child + xml.slice(tag.index);
    if (closing === '/') depth -= 1;
    else if (!attributes.endsWith('/')) depth += 1;
  }
  return xml;
}

/** Appends a child to the last element of this name. */
export function appendChild(xml: string, parent: string, child: string): string {
  const end = xml.lastIndexOf(`</${parent}>`);
  if (end >= 0) return xml.slice(0, end) + child + xml.slice(end);
  return xml.replace(
    new RegExp(`<${parent}(?=[\\s/])([^<>]*)/>`),
    (_, attributes: string) => `<${parent}${attributes.trimEnd()}>${child}</${parent}>`,
  );
}

/** An element's position and content. */
export interface ElementAt {
  start: number;
  /** After the closing tag. */
  end: number;
  /** Attributes as text; for `<a/>` without the slash. */
  attributes: string;
  /** The text between the tags. */
  content: string;
}

/** All elements of this name that are not nested in another one, in linear time. */
export function* elements(xml: string, name: string, from = 0): Generator<ElementAt> {
  const pattern = new RegExp(`<${name}(?=[\\s/>])([^<>]*)>`, 'g');
  pattern.lastIndex = from;
  const closing = `</${name}>`;
  for (let tag = pattern.exec(xml); tag !== null; tag = pattern.exec(xml)) {
    const start = tag.index;
    const inside = pattern.lastIndex;
    const attributes = tag[1] ?? '';
    if (attributes.endsWith('/')) {
      yield { start, end: inside, attributes: attributes.slice(0, -1).trimEnd(), content: '' };
      continue;
    }
    const close = xml.indexOf(closing, inside);
    if (close < 0) return;
    pattern.lastIndex = close + closing.length;
    yield { start, end: pattern.lastIndex, attributes, content: xml.slice(inside, close) };
  }
}

/** Sets an attribute, or removes it if the value is undefined. */
export function withAttribute(attributes: string, name: string, value: string | number | undefined): string {
  const without = attributes.replace(new RegExp(`\\s${name}\\s*=\\s*(?:"[^"]*"|'[^']*')`), '').trimEnd();
  return value === undefined ? without : `${without} ${name}="${value}"`;
}

/** Removes the prefix of the root (`<x:row>`), so that the part can be saved with a default namespace. */
export function withDefaultNamespace(xml: string): string {
  const prefix = ROOT_PREFIX.exec(xml)?.[1];
  if (prefix === undefined) return xml;
  const plain = xml.replaceAll(`<${prefix}:`, '<').replaceAll(`</${prefix}:`, '</');
  return plain.replace(/<[A-Za-z][^<>]*>/, (root) =>
    root.replace(/\sxmlns="[^"]*"/, '').replace(` xmlns:${prefix}=`, ' xmlns='),
  );
}

const ROOT_PREFIX =
  /^\s*(?:<\?[^>]*>\s*)?<([A-Za-z_][\w.-]*):(?:worksheet|workbook|sst|styleSheet|Types|Relationships)[\s>]/;

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** The text of XML character data: normalises line ends, then decodes entities. Unknown entities are kept. */
function xmlText(data: string): string {
  const lines = data.includes('\r') ? data.replace(/\r\n?/g, '\n') : data;
  if (!lines.includes('&')) return lines;
  return lines.replace(
    /&(?:(lt|gt|quot|apos|amp)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));/g,
    (whole, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return NAMED[name] ?? whole;
      const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}

/** Decodes the format's own escape (`_x000D_`) for characters that XML cannot contain. */
export function unescaped(text: string): string {
  return text.includes('_x')
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    : text;
}

/** Escapes what looks like that escape, and line ends that a reader of XML would change. */
export function escapedText(text: string): string {
  return text.replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_').replace(/\r/g, '_x000D_');
}

/** A tag's attribute, decoded. `name` may be a pattern. */
export function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag);
  const value = match?.[1] ?? match?.[2];
  return value === undefined ? undefined : xmlText(value);
}

/** Escapes text for XML data or an attribute, and removes characters that XML cannot contain. */
export function xmlData(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|\p{Surrogate}/gu, '')
    .replace(/\r\n?/g, '\n')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}

/** A `<t>` element of a cell. Text that looks like an escape of the format (`_x000D_`) stays text. */
export function textElement(text: string): string {
  return `<t xml:space="preserve">${xmlData(text).replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')}</t>`;
}
