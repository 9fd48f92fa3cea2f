/** Small changes to XML text that leave everything around them unchanged. */

// A value may contain `>` but never `<`; stopping there limits the cost of malicious text to its length.
const TAG = /<(\/?)([\w:.-]+)(?=[\s/>])((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/g;

/**
 * Inserts a child at its position in the order of the format: before the first of `following`, otherwise at the end of
 * its parent.
 * @param from just inside the parent, where scanning starts; grandchildren do not count
 */
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

/** Appends a child to the last element of that name. */
export function appendChild(xml: string, parent: string, child: string): string {
  const end = xml.lastIndexOf(`</${parent}>`);
  if (end >= 0) return xml.slice(0, end) + child + xml.slice(end);
  return xml.replace(
    new RegExp(`<${parent}(?=[\\s/])([^<>]*)/>`),
    (_, attributes: string) => `<${parent}${attributes.trimEnd()}>${child}</${parent}>`,
  );
}

/** Start and end of the element of that name, with the ends of its opening tag; undefined if there is none. */
export interface ElementAt {
  start: number;
  /** Behind the opening tag. */
  inside: number;
  /** Behind the closing tag. */
  end: number;
  /** Attributes as text; of `<a/>` without the slash. */
  attributes: string;
  /** What stands between the tags. */
  content: string;
}

/** All elements of that name that are not inside another one of that name. The cost grows linearly with the text. */
export function* elements(xml: string, name: string, from = 0): Generator<ElementAt> {
  const pattern = new RegExp(`<${name}(?=[\\s/>])([^<>]*)>`, 'g');
  pattern.lastIndex = from;
  const closing = `</${name}>`;
  for (let tag = pattern.exec(xml); tag !== null; tag = pattern.exec(xml)) {
    const start = tag.index;
    const inside = pattern.lastIndex;
    const attributes = tag[1] ?? '';
    if (attributes.endsWith('/')) {
      yield { start, inside, end: inside, attributes: attributes.slice(0, -1).trimEnd(), content: '' };
      continue;
    }
    const close = xml.indexOf(closing, inside);
    if (close < 0) return;
    pattern.lastIndex = close + closing.length;
    yield { start, inside, end: pattern.lastIndex, attributes, content: xml.slice(inside, close) };
  }
}

/** Attributes with one of them set, or removed if the value is undefined. */
export function withAttribute(attributes: string, name: string, value: string | number | undefined): string {
  const without = attributes.replace(new RegExp(`\\s${name}\\s*=\\s*(?:"[^"]*"|'[^']*')`), '').trimEnd();
  return value === undefined ? without : `${without} ${name}="${value}"`;
}

/** `<x:row>` as `<row>`: other programs bind the same namespace to a prefix. */
function withoutPrefix(xml: string): string {
  const prefix = rootPrefix(xml);
  return prefix === undefined ? xml : xml.replaceAll(`<${prefix}:`, '<').replaceAll(`</${prefix}:`, '</');
}

/** XML without the prefix of its root, to save it again: the namespace becomes the default one. */
export function withDefaultNamespace(xml: string): string {
  const prefix = rootPrefix(xml);
  if (prefix === undefined) return xml;
  return withoutPrefix(xml).replace(/<[A-Za-z][^<>]*>/, (root) =>
    root.replace(/\sxmlns="[^"]*"/, '').replace(` xmlns:${prefix}=`, ' xmlns='),
  );
}

function rootPrefix(xml: string): string | undefined {
  return /^\s*(?:<\?[^>]*>\s*)?<([A-Za-z_][\w.-]*):(?:worksheet|workbook|sst|styleSheet|comments|Types|Relationships)[\s>]/.exec(
    xml,
  )?.[1];
}
