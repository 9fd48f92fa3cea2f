import type { Rendered } from '../http/rendered';

/** Characters that a client has to remove; without them a text is as it was. */
const HOSTILE = '\u0000\ud800';
const MEGABYTE = 1024 * 1024;

/** The answer with NUL and half a surrogate pair behind every text, and a remark of a megabyte. */
export function withHostileTexts(rendered: Rendered): Rendered {
  return changed(rendered, (answer) => {
    const hostile = eachPart(answer, (part) => (typeof part === 'string' ? `${part}${HOSTILE}` : part));
    const record = recordOf(hostile);
    if (record) record['remark'] = 'x'.repeat(MEGABYTE);
    return hostile;
  });
}

/** The answer as written by a system without null: `NA`, `-` and `""` instead, and lists with an empty place. */
export function withOddEmpties(rendered: Rendered): Rendered {
  const words = ['NA', '-', ''];
  let next = 0;
  return changed(rendered, (answer) =>
    eachPart(answer, (part) => {
      if (part === null) return words[(next += 1) % words.length];
      if (!Array.isArray(part)) return typeof part === 'number' ? String(part) : part;
      return part.length === 0 ? '' : [null, ...(part as unknown[])];
    }),
  );
}

/** A PDF behind a byte order mark and an empty line, followed by a comment of 4 KB as a proxy might add it. */
export function asOddPdf(rendered: Rendered): Rendered {
  const remark = `\n<!-- ${'scanned '.repeat(512)}-->\n`;
  return { ...rendered, body: Buffer.concat([Buffer.from('\ufeff\r\n'), rendered.body, Buffer.from(remark)]) };
}

/** A line of text in place of the PDF, with the PDF's name and content type. */
export function asTextInsteadOfPdf(rendered: Rendered): Rendered {
  return { ...rendered, body: Buffer.from('The certificate is being prepared.') };
}

function changed(rendered: Rendered, change: (answer: unknown) => unknown): Rendered {
  if (rendered.status >= 300 || !rendered.headers['content-type']?.startsWith('application/json')) return rendered;
  const answer = change(JSON.parse(rendered.body.toString('utf8')));
  return { ...rendered, body: Buffer.from(JSON.stringify(answer)) };
}

/** Changes every value of an answer, the innermost first, except the fields of the envelope. */
function eachPart(part: unknown, change: (part: unknown) => unknown): unknown {
  if (Array.isArray(part)) return change(part.map((each) => eachPart(each, change)));
  if (typeof part !== 'object' || part === null) return change(part);
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === 'statusCode' || name === 'success' ? (value as unknown) : eachPart(value, change),
    ]),
  );
}

/** The record in the answer's envelope; null for a list. */
function recordOf(answer: unknown): Record<string, unknown> | null {
  const data = (answer as { data?: unknown } | null)?.data;
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Record<string, unknown>) : null;
}
