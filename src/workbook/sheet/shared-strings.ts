import { runsText } from '../ooxml/xml-text';

/** The strings that cells share, decoded when first asked for: most of a large workbook's are in columns nobody reads. */
export class SharedStrings {
  /** Where each string begins and ends: two numbers cost less than a piece of text. */
  private readonly places: number[] = [];
  private readonly texts = new Map<number, string>();

  constructor(private readonly xml: string) {
    for (let at = xml.indexOf('<si'); at >= 0; at = xml.indexOf('<si', at + 3)) {
      if (!/[\s/>]/.test(xml.charAt(at + 3))) continue;
      const inside = xml.indexOf('>', at) + 1;
      if (inside === 0) break;
      if (xml.charAt(inside - 2) === '/') {
        this.places.push(inside, inside);
        continue;
      }
      const end = xml.indexOf('</si>', inside);
      if (end < 0) break;
      this.places.push(inside, end);
      at = end;
    }
  }

  /** The text of a string, empty where there is none of that index. */
  at(index: number): string {
    const known = this.texts.get(index);
    if (known !== undefined) return known;
    const text = runsText(this.xml.slice(this.places[2 * index] ?? 0, this.places[2 * index + 1] ?? 0));
    this.texts.set(index, text);
    return text;
  }
}
