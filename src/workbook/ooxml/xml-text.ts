const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** The text of XML character data: line ends as XML defines them, then entities. Unknown entities are kept. */
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

/** Text of a cell: the format has its own escape (`_x000D_`) for characters that XML cannot contain. */
export function unescaped(text: string): string {
  return text.includes('_x')
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    : text;
}

/** The joined runs of a rich or plain string element in XML text, without phonetic guides. */
export function runsText(element: string): string {
  let text = '';
  for (const [, data = ''] of withoutAids(element).matchAll(/<t(?:\s[^<>]*)?>([^<]*)<\/t>/g))
    text += unescaped(xmlText(data));
  return text;
}

function withoutAids(element: string): string {
  let kept = '';
  let read = 0;
  for (let at = element.indexOf('<rPh'); at >= 0; at = element.indexOf('<rPh', read)) {
    kept += element.slice(read, at);
    const inside = element.indexOf('>', at) + 1;
    const end = element.charAt(inside - 2) === '/' ? inside : element.indexOf('</rPh>', inside) + '</rPh>'.length;
    // A pattern that searches for the end would scan the whole rest once for each guide without an end.
    if (end < inside || inside === 0) return kept;
    read = end;
  }
  return kept + element.slice(read);
}

/** An attribute of a tag, decoded; `name` may be a pattern. */
export function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag);
  const value = match?.[1] ?? match?.[2];
  return value === undefined ? undefined : xmlText(value);
}

/** Text as XML data or as an attribute's value; characters that XML cannot contain are removed. */
export function xmlData(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|\p{Surrogate}/gu, '')
    .replace(/\r\n?/g, '\n')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}

/** A `<t>` element of a cell or note; text that looks like an escape of the format (`_x000D_`) stays text. */
export function textElement(text: string): string {
  return `<t xml:space="preserve">${xmlData(text).replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')}</t>`;
}
