import { elements, insertChild, withAttribute, attribute } from '../ooxml/xml-edit';
import type { Finding } from '../../domain/rules/finding';

/** Our fills. A later run knows them by their colours, which are next to those of Excel's own Bad and Neutral. */
const FILLS = { error: 'FFFFC7CD', warning: 'FFFFEB9B' } as const;

/** The children of a style sheet, in the order of the format. */
const ORDER = [
  'numFmts',
  'fonts',
  'fills',
  'borders',
  'cellStyleXfs',
  'cellXfs',
  'cellStyles',
  'dxfs',
  'tableStyles',
  'colors',
  'extLst',
];

const NO_FILLS = [
  '<fill><patternFill patternType="none"/></fill>',
  '<fill><patternFill patternType="gray125"/></fill>',
];

/** The style sheet for a workbook without one. */
export const NO_STYLES = (main: string): string =>
  `<styleSheet xmlns="${main}"><cellStyleXfs count="1"><xf/></cellStyleXfs></styleSheet>`;

/** A workbook's style sheet. Styles are only appended, so that every index in use keeps its meaning. */
export class CellStyles {
  private readonly fonts: StyleList;
  private readonly fills: StyleList;
  private readonly borders: StyleList;
  private readonly formats: StyleList;
  private readonly derived = new Map<string, number>();
  private readonly ourFills = new Map<number, boolean>();

  constructor(private readonly source: string) {
    this.fonts = new StyleList(source, 'fonts', 'font', ['<font><sz val="11"/><name val="Calibri"/></font>']);
    this.fills = new StyleList(source, 'fills', 'fill', NO_FILLS);
    this.borders = new StyleList(source, 'borders', 'border', [
      '<border><left/><right/><top/><bottom/><diagonal/></border>',
    ]);
    this.formats = new StyleList(source, 'cellXfs', 'xf', ['<xf/>']);
  }

  /** The cell's style with our fill. */
  marked(number: number, severity: Finding['severity']): number {
    // A missing index means the first style.
    const style = number < this.formats.items.length ? number : 0;
    return this.derive(`${style} ${severity}`, style, (attributes) => {
      const fill = `<fill><patternFill patternType="solid"><fgColor rgb="${FILLS[severity]}"/></patternFill></fill>`;
      return withAttribute(withAttribute(attributes, 'fillId', this.fills.add(fill)), 'applyFill', 1);
    });
  }

  /** The style without our fill; unchanged if the fill is not ours. */
  unmarked(style: number): number {
    const known = this.derived.get(`${style} plain`);
    if (known !== undefined) return known;
    const format = this.formats.items[style] ?? '';
    if (!this.isOurFill(Number(attribute(openingTag(format), 'fillId') ?? 0))) {
      this.derived.set(`${style} plain`, style);
      return style;
    }
    return this.derive(`${style} plain`, style, (attributes) =>
      withAttribute(withAttribute(attributes, 'fillId', 0), 'applyFill', undefined),
    );
  }

  /** Cached, because thousands of styles may share a long fill. */
  private isOurFill(fillId: number): boolean {
    const known = this.ourFills.get(fillId);
    if (known !== undefined) return known;
    const fill = this.fills.items[fillId] ?? '';
    const colour = attribute(/<fgColor\s[^<>]*>/.exec(fill)?.[0] ?? '', 'rgb')?.toUpperCase() ?? '';
    const ours = Object.values<string>(FILLS).includes(colour);
    this.ourFills.set(fillId, ours);
    return ours;
  }

  heading(size: number): number {
    const font = this.fonts.add(`<font><b/><sz val="${size}"/><name val="Calibri"/></font>`);
    return this.formats.add(`<xf numFmtId="0" fontId="${font}" fillId="0" borderId="0" applyFont="1"/>`);
  }

  wrapped(): number {
    const alignment = '<alignment vertical="top" wrapText="1"/>';
    return this.formats.add(`<xf numFmtId="0" fontId="0" fillId="0" borderId="0" applyAlignment="1">${alignment}</xf>`);
  }

  get xml(): string {
    return [this.fonts, this.fills, this.borders, this.formats].reduce((xml, list) => list.into(xml), this.source);
  }

  private derive(key: string, style: number, change: (attributes: string) => string): number {
    const known = this.derived.get(key);
    if (known !== undefined) return known;
    const before = this.formats.items[style] ?? '<xf/>';
    const [format] = elements(before, 'xf');
    const attributes = change(format?.attributes ?? '');
    const index = this.formats.add(format?.content ? `<xf${attributes}>${format.content}</xf>` : `<xf${attributes}/>`);
    this.derived.set(key, index);
    return index;
  }
}

function openingTag(element: string): string {
  return element.slice(0, element.indexOf('>') + 1);
}

class StyleList {
  readonly items: string[];
  private readonly places: Map<string, number>;
  private readonly before: number;
  private readonly attributes: string;

  constructor(
    source: string,
    private readonly name: string,
    item: string,
    whenEmpty: readonly string[],
  ) {
    const [list] = elements(source, name);
    this.attributes = list?.attributes ?? '';
    this.items = [...elements(list?.content ?? '', item)].map(({ start, end }) =>
      (list?.content ?? '').slice(start, end),
    );
    this.before = this.items.length;
    if (this.before === 0) this.items.push(...whenEmpty);
    this.places = new Map();
    this.items.forEach((known, place) => {
      if (!this.places.has(known)) this.places.set(known, place);
    });
  }

  /** The index of an item, which is appended if the list lacks it. */
  add(item: string): number {
    const known = this.places.get(item);
    if (known !== undefined) return known;
    this.places.set(item, this.items.length);
    return this.items.push(item) - 1;
  }

  /** The style sheet with the items appended to this list. */
  into(xml: string): string {
    if (this.items.length === this.before) return xml;
    const added = this.items.slice(this.before).join('');
    const [list] = elements(xml, this.name);
    const attributes = withAttribute(this.attributes, 'count', this.items.length);
    const element = `<${this.name}${attributes}>${list?.content ?? ''}${added}</${this.name}>`;
    if (list) return xml.slice(0, list.start) + element + xml.slice(list.end);
    const inside = (/<styleSheet(?=[\s>])[^<>]*>/.exec(xml)?.index ?? 0) + 1;
    return insertChild(xml, xml.indexOf('>', inside) + 1, ORDER.slice(ORDER.indexOf(this.name) + 1), element);
  }
}
