/** Filing a workbook: handed in, checked cell by cell, declared, filed. Each step has an address of its own. */
import { z } from 'zod';
import { DECLARATION } from '../../domain/filing/mapping';
import { MAY } from '../../domain/principal';
import { headerOf, UPLOAD_TYPES } from '../../domain/rules/columns';
import type { Finding } from '../../domain/rules/finding';
import { sumAmounts } from '../../domain/money';
import { counted } from '../../domain/text';
import { exportersAfter, type ExporterRow } from '../../ledger/exporters/exporters';
import { RefusedError } from '../../starter/errors';
import { makeTemplate } from '../../starter/exporters/template';
import { checkFile, type CheckOutcome } from '../../starter/filings/check';
import { readFilingFile, type FilingFile } from '../../starter/filings/read-file';
import { knownExporter, visibleExporter } from '../access/scope';
import { exporterName, shownAsWritten, visible } from '../http/fields';
import { badRequest, Problem } from '../http/problem';
import { depsFor } from '../http/route';
import { workbookHeaders } from '../views/documents';
import { fileAs, handedIn, handIn, isFiled, valueOf } from '../views/file';
import { fileInput } from '../../domain/contracts';
import { Layout } from './layout';
import { amountShown, shown } from '../views/words';
import { addPage, type PageAnswer, type PageCall, type PageServer, type Viewer } from './page';
import { Alert, Choice, filingHref, Form, Input, Link, Section, Select, Table } from './parts';

/** Exporters to choose from. */
const MOST_EXPORTERS = 500;
const MOST_FINDINGS = 200;

const reference = shownAsWritten(fileInput.shape.reference.unwrap());
const uploadType = z.enum(['', ...Object.keys(UPLOAD_TYPES)]).default('');
const HANDED_IN = z.object({ exporter: exporterName, reference, type: uploadType });
type HandedIn = z.output<typeof HANDED_IN>;
/** What the form begins with. */
const GIVEN = z.record(z.string(), z.string()).catch({});
type Given = z.output<typeof GIVEN>;
const KEY = z.object({ key: z.string().regex(/^[0-9a-f]{64}$/) });

const statedOf = ({ type }: HandedIn) => ({ uploadType: type === '' ? undefined : Number(type) });

const TYPES = [
  ['', 'As the workbook says'],
  ...Object.entries(UPLOAD_TYPES).map(([code, name]) => [code, `${code} ${name}`] as const),
] as const;
const REFERENCE_HINT =
  'Your name for it, such as JULY-2026. Under one reference the same content is filed once, however often you send it.';

type Start = { viewer: Viewer; given: Given; exporters: ExporterRow[]; problems: readonly unknown[] };

const StartPage = ({ viewer, given, exporters, problems }: Start): JSX.Element => (
  <Layout viewer={viewer} title="File">
    <h1>File a workbook</h1>
    {problems.length > 0 && <Alert title="This file cannot be taken." problems={problems} />}
    <p class="prose">Nothing is filed by handing it in: first every cell is checked, then you declare and file.</p>
    <Form viewer={viewer} action="/file" file button="Check it">
      <Select
        label="Exporter"
        name="exporter"
        value={given.exporter}
        options={exporters.map(({ exporterId, name, email }) => [exporterId, `${name} (${email})`])}
      >
        <button
          class="quiet"
          formaction="/file/template"
          formmethod="get"
          formenctype="application/x-www-form-urlencoded"
          formnovalidate
        >
          Its template, to fill in
        </button>
      </Select>
      <Input
        label="Workbook"
        name="file"
        type="file"
        accept=".xlsx,.xls,.csv"
        required
        hint=".xlsx, .xls or .csv, at most 999 rows"
      />
      <Input label="Reference" name="reference" value={given.reference} required hint={REFERENCE_HINT} />
      <Select label="Kind of documents" name="type" options={TYPES} value={given.type} />
    </Form>
  </Layout>
);

interface Checked {
  viewer: Viewer;
  handed: HandedIn;
  exporterShown: string;
  workbook: string;
  file: FilingFile;
  check: CheckOutcome;
  refused: readonly unknown[];
}

const CheckPage = (props: Checked): JSX.Element => {
  const { viewer, handed, exporterShown, check, refused, file, workbook } = props;
  const { ok, rows, errors, warnings } = check;
  const title = shown(`Check of ${handed.reference}`);
  const mappings = ok ? file.rows.map(({ mapping }) => mapping) : [];
  const totals = [...new Set(mappings.map(({ irmFCC }) => irmFCC))].map((currency) => {
    const amounts = mappings.filter(({ irmFCC }) => irmFCC === currency).map((each) => each.mappedIRMAmountFCC);
    return amountShown(sumAmounts(amounts), currency, viewer.grouping);
  });
  const sum = ok ? ` Mapped in all: ${totals.join(', ')}.` : '';
  const outcome = ok ? 'Nothing is wrong.' : `${counted(errors.length, 'error')}: nothing can be filed yet.`;
  return (
    <Layout viewer={viewer} title={title}>
      <h1 safe>{title}</h1>
      {refused.length > 0 && <Alert title="It was refused. Nothing was filed." problems={refused} />}
      <p class="lead" safe>
        {shown(`${exporterShown}: ${counted(rows, 'row')}. ${outcome}${sum}`)}
      </p>
      <Findings id="errors" title="To be corrected" findings={errors} file={file} />
      {!ok && (
        <Link href={`/file/${workbook}/marked?${queryOf(handed)}`} text="Download it with the cells marked" button />
      )}
      <Findings id="warnings" title="Please look at these" findings={warnings} file={file} />
      {ok && <Declare {...props} />}
      <p>
        <Link href={`/file?${queryOf(handed)}`} text="Hand in another workbook" />
      </p>
    </Layout>
  );
};

type Found = { id: string; title: string; findings: readonly Finding[]; file: FilingFile };

/** What is wrong, like the sheet: cell, column, value, and what is to be written. */
const Findings = ({ id, title, findings, file }: Found): JSX.Element => {
  if (findings.length === 0) return <></>;
  const values = new Map(file.rows.map(({ row, mapping }) => [row, mapping as unknown as Record<string, unknown>]));
  const cellOf = ({ row, column }: Finding) =>
    row === null ? 'whole file' : column === undefined ? `row ${row}` : `${column}${row}`;
  return (
    <Section id={id} title={`${title} (${findings.length})`}>
      <Table
        name={title}
        head={['Cell', 'Column', 'Value', 'What is wrong, and what to write']}
        rows={findings.slice(0, MOST_FINDINGS).map((finding) => {
          const { row, field, message } = finding;
          const value = row === null || field === null ? null : values.get(row)?.[field];
          return [cellOf(finding), headerOf(field), valueOf(value, message), message];
        })}
      />
      {findings.length > MOST_FINDINGS && <p>Only the first {MOST_FINDINGS} are shown.</p>}
    </Section>
  );
};

const fieldsOf = ({ exporter, reference: name, type }: HandedIn) => ({ exporter, reference: name, type });
const queryOf = (handed: HandedIn): string => new URLSearchParams(fieldsOf(handed)).toString();

const DECLARED = [
  ['Y', 'Y: it declares this'],
  ['N', 'N: it does not declare this'],
] as const;

const Declare = ({ viewer, handed, workbook, check }: Checked): JSX.Element => (
  <Section id="declare" title="Declare, and file">
    <p class="prose" safe>
      {DECLARATION.join(' ')}
    </p>
    <Form
      viewer={viewer}
      action={`/file/${workbook}`}
      hidden={fieldsOf(handed)}
      button={`File ${counted(check.rows, 'row')} as ${handed.reference}`}
    >
      <Choice legend="The exporter declares" name="declaration" options={DECLARED} />
      <p>
        <label>
          <input type="checkbox" name="approval" value="yes" /> Wait for the approval of somebody else
        </label>
      </p>
    </Form>
  </Section>
);

/** The check. Of what is filed already, as after the way back, its filing: its own rows would be refused as filed. */
async function checkPage(
  server: PageServer,
  viewer: PageCall,
  { workbook, handed, refused = [] }: { workbook: string; handed: HandedIn; refused?: readonly unknown[] },
): Promise<PageAnswer> {
  const { exporterId, name } = await knownExporter(server.httpApi.deps, viewer.principal, handed.exporter);
  const deps = depsFor(server.httpApi, exporterId);
  const bytes = await handedIn(deps, viewer.principal, workbook);
  const stated = statedOf(handed);
  const file = await readFilingFile({ name: 'workbook.xlsx', bytes }, stated, deps);
  if (refused.length === 0 && (await isFiled(deps, { exporterId, reference: handed.reference, file })))
    return { to: filingHref(handed.reference) };
  const check = await checkFile(deps, { source: { read: file }, exporter: exporterId, ...stated });
  const html = <CheckPage {...{ viewer, handed, exporterShown: name, workbook, file, check, refused }} />;
  return { html, ...(refused.length > 0 && { status: 422 }) };
}

async function startPage(server: PageServer, viewer: PageCall, given: Given, problems: readonly unknown[] = []) {
  const { pool, mode } = server.httpApi.deps;
  const { exporters: scope } = viewer.principal;
  const exporters = await exportersAfter(pool, { mode, after: '', limit: MOST_EXPORTERS, exporters: scope });
  return <StartPage viewer={viewer} given={given} exporters={exporters} problems={problems} />;
}

export function addFilePages(server: PageServer): void {
  const { httpApi } = server;
  const { deps } = httpApi;

  addPage(server, {
    route: 'GET /file',
    roles: MAY.file,
    query: GIVEN,
    handle: async (call) => ({ html: await startPage(server, call, call.query) }),
  });

  addPage(server, {
    route: 'GET /file/template',
    query: z.object({ exporter: exporterName }),
    async handle({ principal, query }) {
      const { exporterId, name } = await knownExporter(deps, principal, query.exporter);
      const { bytes } = await makeTemplate({ pool: deps.pool, mode: deps.mode }, exporterId);
      return { headers: workbookHeaders(`template-${name}.xlsx`), body: bytes };
    },
  });

  addPage(server, {
    route: 'POST /file',
    roles: MAY.file,
    takesFile: true,
    changes: false,
    fields: HANDED_IN,
    async handle(call) {
      const { principal, fields, upload } = call;
      if (upload === null) throw badRequest('no_file', 'Choose a workbook first.', 'file');
      if (/\.json$/i.test(upload.name))
        throw badRequest(
          'not_a_workbook',
          'A push message is no workbook. Programs hand it in at POST /v1/filings.',
          'file',
        );
      const exporter = await visibleExporter(deps, principal, fields.exporter);
      const file = await readFilingFile(upload, statedOf(fields), depsFor(httpApi, exporter));
      const key = await handIn(deps, principal, file.bytes);
      if (key === null) return { status: 422, html: await startPage(server, call, fields, file.findings) };
      return { to: `/file/${key}?${queryOf({ ...fields, exporter })}` };
    },
  });

  addPage(server, {
    route: 'GET /file/:key',
    roles: MAY.file,
    params: KEY,
    query: HANDED_IN,
    handle: (call) => checkPage(server, call, { workbook: call.params.key, handed: call.query }),
  });

  addPage(server, {
    route: 'GET /file/:key/marked',
    roles: MAY.file,
    params: KEY,
    query: HANDED_IN,
    async handle(call) {
      const { principal, params, query } = call;
      const exporter = await visibleExporter(deps, principal, query.exporter);
      const source = { name: 'workbook.xlsx', bytes: await handedIn(deps, principal, params.key) };
      const asked = { source, exporter, annotate: true, ...statedOf(query) };
      const { annotated } = await checkFile(depsFor(httpApi, exporter), asked);
      if (annotated === null)
        throw new Problem(422, 'not_marked', 'Its cells could not be read, so none can be marked.');
      return { headers: workbookHeaders(`${query.reference}-checked.xlsx`), body: annotated };
    },
  });

  addPage(server, {
    route: 'POST /file/:key',
    roles: MAY.file,
    params: KEY,
    fields: HANDED_IN.extend({ declaration: z.enum(['Y', 'N']), approval: visible(3).optional() }),
    async handle(call) {
      const { principal, params, fields } = call;
      const { declaration, approval, ...handed } = fields;
      const exporter = await visibleExporter(deps, principal, fields.exporter);
      const source = { name: 'workbook.xlsx', bytes: await handedIn(deps, principal, params.key) };
      const stated = statedOf(handed);
      const terms = { reference: handed.reference, madeBy: principal.name, approval: approval === 'yes' || undefined };
      try {
        const { filing } = await fileAs(httpApi, principal, { source, exporter, declaration, ...terms, ...stated });
        if (filing.state === 'refused') throw new RefusedError(filing.errors as RefusedError['errors']);
      } catch (error) {
        const refused =
          error instanceof RefusedError
            ? error.errors
            : error instanceof Problem && error.status === 409
              ? [error]
              : null;
        if (refused === null) throw error;
        return checkPage(server, call, { workbook: params.key, handed, refused });
      }
      return { to: filingHref(fields.reference) };
    },
  });
}
