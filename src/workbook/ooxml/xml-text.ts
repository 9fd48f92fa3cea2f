const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** The text that XML character data stands for: line ends as XML reads them, then entities. Unknown entities stay. */
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

/** Text of a cell: besides entities the format has an escape of its own (`_x000D_`) for what XML cannot hold. */
export function cellText(data: string): string {
  const text = xmlText(data);
  return text.includes('_x')
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    : text;
}

/** The joined runs of a rich or plain string element, without the reading aids of East Asian text. */
export function runsText(element: string): string {
  const runs = element.includes('<rPh') ? element.replace(/<rPh[\s>](?:[^<]|<(?!\/rPh>))*<\/rPh>/g, '') : element;
  let text = '';
  for (const [, data = ''] of runs.matchAll(/<t(?:\s[^<>]*)?>([^<]*)<\/t>/g)) text += cellText(data);
  return text;
}

/** An attribute of a tag, decoded; `name` may be a pattern. */
export function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag);
  const value = match?.[1] ?? match?.[2];
  return value === undefined ? undefined : xmlText(value);
}

/** Text as XML data or as an attribute's value; what XML cannot hold goes. */
export function xmlData(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|\p{Surrogate}/gu, '')
    .replace(/\r\n?/g, '\n')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}

/** A `<t>` element of a cell or note; what looks like an escape of the format (`_x000D_`) stays text. */
export function textElement(text: string): string {
  return `<t xml:space="preserve">${xmlData(text).replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')}</t>`;
}
