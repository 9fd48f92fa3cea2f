import { runsText } from './xml-text';

/** The strings that cells share, decoded when first asked for: most of a large workbook's are in columns nobody reads. */
export class SharedStrings {
  private readonly elements: (string | undefined)[] = [];
  private readonly texts = new Map<number, string>();

  constructor(xml: string) {
    const pattern = /<si(?=[\s/>])[^<>]*>/g;
    for (let tag = pattern.exec(xml); tag !== null; tag = pattern.exec(xml)) {
      if (tag[0].endsWith('/>')) {
        this.elements.push('');
        continue;
      }
      const end = xml.indexOf('</si>', pattern.lastIndex);
      if (end < 0) break;
      this.elements.push(xml.slice(pattern.lastIndex, end));
      pattern.lastIndex = end;
    }
  }

  /** The text of a string, empty where there is none of that index. */
  at(index: number): string {
    const known = this.texts.get(index);
    if (known !== undefined) return known;
    const text = runsText(this.elements[index] ?? '');
    this.texts.set(index, text);
    return text;
  }
}
