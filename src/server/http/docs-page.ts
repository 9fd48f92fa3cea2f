/** A page that lists the routes of the API. */
import { printable } from '../../domain/text';

interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
}

/** @param document the OpenAPI document */
export function docsPage(document: { paths?: unknown; info?: { title?: string; version?: string } }): string {
  const paths = Object.entries((document.paths ?? {}) as Record<string, Record<string, Operation>>);
  const operations = paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  const tags = [...new Set(operations.flatMap((each) => each.tags ?? []))];
  const sections = tags.map((tag) => {
    const rows = operations
      .filter((each) => each.tags?.includes(tag))
      .map(({ method, path, summary = '', description = '' }) =>
        row([
          `<code>${escaped(method)}</code>`,
          `<code>${escaped(path)}</code>`,
          escaped(summary),
          escaped(description),
        ]),
      );
    return `<h2>${escaped(tag)}</h2><table><thead>${HEAD}</thead><tbody>${rows.join('')}</tbody></table>`;
  });
  const { title = 'API', version = '' } = document.info ?? {};
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title></head>
<body><h1>${escaped(title)} ${escaped(version)}</h1>
<p>The complete description, with every field: <a href="/v1/openapi.json">/v1/openapi.json</a> (OpenAPI 3.1). Every request needs
<code>Authorization: Bearer TOKEN</code>; <code>ebrc principals add</code> makes a token. Errors are <code>application/problem+json</code>.</p>
${sections.join('\n')}
</body></html>
`;
}

const HEAD =
  '<tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">What</th><th scope="col">Who</th></tr>';

const row = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
