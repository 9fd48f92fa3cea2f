import { PdfScan, pdfProblem } from '../../src/domain/pdf';
import { pdfWith } from '../support/scripted-pdf';

/** What is said of a file, however it arrives. */
function said(file: Buffer): { problem: string | null; note: string | null } {
  const [whole, ...others] = [file.length, 1, 7, 1_000].map((size) => {
    const scan = new PdfScan();
    for (let at = 0; at < file.length; at += size) scan.push(file.subarray(at, at + size));
    return { problem: scan.problem(), note: scan.note() };
  });
  for (const other of others) expect(other).toEqual(whole);
  return whole ?? { problem: null, note: null };
}

const PDF = pdfWith('certificate').toString();
const replaced = (from: string | RegExp, to: string) => Buffer.from(PDF.replace(from, to));
/** A file whose list of objects is in a stream, as most programs write it now. */
function withStream(): Buffer {
  const body = '%PDF-1.5\n1 0 obj\n<</Type/Catalog>>\nendobj\n';
  const list = '2 0 obj\n<</Type/XRef/Root 1 0 R/W[1 2 1]/Length 3>>stream\nxyz\nendstream\nendobj\n';
  return Buffer.from(`${body}${list}startxref\n${body.length}\n%%EOF\n`);
}

test.each<[string, Buffer]>([
  ['a table', Buffer.from(PDF)],
  ['a stream', withStream()],
  ['a table behind bytes of a printer', Buffer.from(`\u001b%-12345X@PJL\r\n${PDF}`)],
  [
    'a target one line end short',
    replaced(
      /startxref\n(\d+)/,
      (Number(/startxref\n(\d+)/.exec(PDF)?.[1]) - 1).toString().replace(/^/, 'startxref\n'),
    ),
  ],
  [
    'a change of its own',
    Buffer.from(
      `${PDF}9 0 obj\n<<>>\nendobj\nxref\n0 0\ntrailer\n<</Root 1 0 R>>\nstartxref\n${PDF.length + 20}\n%%EOF`,
    ),
  ],
])('with %s it is complete', (_what, file) => {
  expect(said(file)).toEqual({ problem: null, note: null });
});

test.each<[string, Buffer, string]>([
  ['its target is elsewhere', replaced(/startxref\n\d+/, 'startxref\n99999'), 'PDF readers search'],
  ['its target is missing', replaced(/startxref\n\d+\n/, ''), 'PDF readers search'],
  ['its line ends were changed on the way', Buffer.from(PDF.replaceAll('\n', '\r\n')), 'PDF readers search'],
  ['only its end marker is missing', replaced('%%EOF\n', ''), 'end marker is missing'],
])('where %s it is kept with a note', (_what, file, note) => {
  expect(said(file)).toEqual({ problem: null, note: expect.stringContaining(note) as string });
});

test.each<[string, Buffer, string]>([
  ['a header and an end alone', Buffer.from('%PDF-\nhello %%EOF'), 'it is not a PDF'],
  [
    'a page of HTML that quotes one',
    Buffer.from(`<html><pre>${PDF.replace(/startxref\n\d+/, 'startxref\n9')}</pre></html>`),
    'it is not a PDF',
  ],
  ['objects without a list', Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n'), 'no list of its objects'],
  ['a file cut within its objects', Buffer.from(PDF.slice(0, 120)), 'cut short'],
  ['a file cut within its list', Buffer.from(PDF.slice(0, PDF.indexOf('trailer'))), 'cut short'],
  ['a file cut within its target', Buffer.from(PDF.slice(0, PDF.indexOf('startxref') + 11)), 'cut short'],
  ['a change that is cut', Buffer.from(`${PDF}9 0 obj\n<</Length 9>>stream`), 'cut short'],
])('%s is refused', (_what, file, problem) => {
  expect(said(file).problem).toContain(problem);
  expect(pdfProblem(file)?.code).toBe('not_a_pdf');
});
