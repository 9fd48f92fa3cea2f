/** A filing, or a whole reference: its state, what is asked, rows, documents and story. */
import { z } from 'zod';
import { FILING_STATES } from '../../domain/filing/states';
import { waitingText, type EventView, type FilingSummary, type FilingView } from '../../domain/filing/view';
import { filingName } from '../../domain/names';
import { MAY } from '../../domain/principal';
import { eventsPage, listFilings } from '../../ledger/views/lists';
import { RefusedError } from '../../starter/errors';
import { correctFiling } from '../../starter/filings/correct';
import { isWhole, viewNamed } from '../../starter/lookup';
import { visibleFiling } from '../access/scope';
import { asCursor, readCursor, visible } from '../http/fields';
import { badRequest } from '../http/problem';
import { depsFor } from '../http/route';
import { bundleOf, pdfsOf, workbookOf } from '../views/documents';
import { stateText } from '../views/filing';
import { Decide, OtherActions, type Said } from './decide';
import { Progress, Rows, Story } from './filing-parts';
import { Layout, Live } from './layout';
import { shown, timeText } from '../views/words';
import { addPage, type PageCall, type PageServer, type Viewer } from './page';
import { Alert, attentionText, exporterHref, Fields, filingHref, Form, Input, Link, More, Problems } from './parts';
import { Section, Select, State, Table, Time } from './parts';

export const FILING = z.object({ filing: visible(300) });
const PART = z.object({
  rows: z.enum(['all', 'errored', 'open', 'certified']).default('all'),
  page: z.coerce.number().int().min(1).max(100).default(1),
  story: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional(),
});
const MOST_EVENTS = 60;

interface Shown {
  viewer: Viewer;
  filing: FilingView;
  name: string;
  part: z.output<typeof PART>;
  story: { items: EventView[]; next: string | null };
  seen: string;
  /** A live part of the page is read anew. */
  again: boolean;
  refused: Refused | null;
}

/** Why nothing came of a form. */
interface Refused {
  title: string;
  problems: readonly unknown[];
  /** What the form said, to be sent again. */
  said?: Said;
}

const FilingPage = (props: Shown): JSX.Element => {
  const { viewer, filing, name, part, story, seen, refused } = props;
  const href = filingHref(name);
  const title = shown(filingName(filing));
  return (
    <Layout viewer={viewer} title={title}>
      <h1 safe>{title}</h1>
      {refused !== null && <Alert title={refused.title} problems={refused.problems} />}
      <Status {...props} />
      <Decide filing={filing} viewer={viewer} said={refused?.said} />
      <Correct filing={filing} viewer={viewer} name={name} />
      <OtherActions filing={filing} viewer={viewer} />
      <Rows rows={filing.rows} viewer={viewer} href={href} filter={part.rows} page={part.page} />
      <Documents filing={filing} name={name} />
      <Story events={story.items} href={href} next={story.next} />
      <Live href={href} about={filing.filingId ?? ''} seen={seen} parts={['status', 'rows', 'story']} />
    </Layout>
  );
};

/** The state as a sentence, with what it waits for, and what is wrong. */
const Status = ({ filing, name, again }: Shown): JSX.Element => {
  const { waiting, attention, errors, warnings, counts, actions } = filing;
  return (
    <section id="status" aria-label="State">
      {again && actions.length > 0 && (
        <p class="note">
          There is news of it: <Link href={filingHref(name)} text="read the whole page anew" /> before you decide.
        </p>
      )}
      <p class="lead">
        <State state={filing.state} /> <span safe>{shown(stateText(filing))}</span>
      </p>
      {waiting !== null && <p safe>{shown(`It waits for ${waitingText(waiting, timeText)}.`)}</p>}
      {attention !== null && (
        <p class="note" safe>
          {attentionText(attention)}
        </p>
      )}
      <Progress counts={counts} />
      {errors.length > 0 && (
        <details open>
          <summary safe>{`What is wrong (${errors.length})`}</summary>
          <Problems problems={errors} />
        </details>
      )}
      {warnings.length > 0 && (
        <details>
          <summary safe>{`Warnings (${warnings.length})`}</summary>
          <Problems problems={warnings} />
        </details>
      )}
      <About filing={filing} />
    </section>
  );
};

const About = ({ filing }: { filing: FilingView }): JSX.Element => (
  <>
    <Fields
      pairs={[
        ['Made', filing.madeAt && `${filing.madeAt} by ${filing.madeBy ?? 'unknown'}`],
        ['Declaration', filing.declaration],
        ['Upload type', filing.uploadType?.toString()],
        ['Request of the service', filing.requestId],
        ['Acknowledgement of the authority', filing.dgftAckId],
        ['Approved', filing.approvedAt],
        ['Filing', filing.filingId],
      ]}
    />
    <p>
      Exporter <Link href={exporterHref(filing.exporterId)} text={filing.exporterName ?? filing.exporterId} />
      {filing.corrects !== null && (
        <>
          ; corrects <Link href={filingHref(filing.corrects)} text={filing.corrects} />
        </>
      )}
      {filing.correctedBy.map((id) => (
        <>
          ; corrected by <Link href={filingHref(id)} text={id} />
        </>
      ))}
    </p>
  </>
);

const Correct = ({ filing, viewer, name }: { filing: FilingView; viewer: Viewer; name: string }): JSX.Element => {
  if (!filing.actions.includes('correct') || !viewer.principal.roles.includes('maker')) return <></>;
  const workbook = `${filingHref(filing.filingId ?? name)}/workbook`;
  return (
    <Section id="correct" title="Correct it">
      <ol class="prose">
        <li>
          <Link href={workbook} text="Download its workbook" />: the cells to correct are marked.
        </li>
        <li>Correct these rows, and save it.</li>
        <li>Hand it in here: what passes the check is filed at once, with the declaration of before.</li>
      </ol>
      <Form viewer={viewer} action={`${filingHref(name)}/correct`} file button="File the corrected rows">
        <Input label="The corrected workbook" name="file" type="file" accept=".xlsx,.xls,.csv" required />
      </Form>
    </Section>
  );
};

const Documents = ({ filing, name }: { filing: FilingView; name: string }): JSX.Element => {
  const { filingId, counts, annotated } = filing;
  const own = filingHref(filingId ?? name);
  const workbook =
    annotated === null ? 'The workbook as it was handed in' : 'The workbook, with what became of its rows';
  return (
    <Section id="documents" title="Documents">
      <ul>
        {counts.archived > 0 && (
          <li>
            <Link href={`${filingHref(name)}/pdfs`} text={`All ${counts.archived} PDFs as a zip`} />
          </li>
        )}
        <li>
          <Link href={`${own}/workbook`} text={workbook} />
        </li>
        <li>
          <Link href={`${own}/bundle`} text="All evidence as a zip" />
        </li>
      </ul>
    </Section>
  );
};

type Named = PageCall<z.output<typeof FILING>, unknown, unknown>;

export async function filingPage(
  { httpApi: { deps }, live }: PageServer,
  viewer: Named,
  part = PART.parse({}),
  refused: Refused | null = null,
): Promise<JSX.Element> {
  const { pool, mode } = deps;
  const { request, params } = viewer;
  const name = params.filing;
  const record = await visibleFiling(deps, viewer.principal, name);
  const { reference, filingId } = record;
  // The version first: what changes while the page is made is read anew.
  const seen = await live.versionOf(filingId);
  const n = isWhole(record, name) ? null : record.n;
  const [filing, story] = await Promise.all([
    viewNamed(deps, name),
    eventsPage(pool, { mode, reference, n, after: part.story, limit: MOST_EVENTS }),
  ]);
  const again = request.headers['hx-request'] !== undefined;
  return <FilingPage {...{ viewer, filing, name, part, story, seen, refused, again }} />;
}

export function addFilingPages(server: PageServer): void {
  const { httpApi } = server;
  const { deps } = httpApi;

  addPage(server, {
    route: 'GET /filings/:filing',
    params: FILING,
    query: PART,
    handle: async (call) => ({ html: await filingPage(server, call, call.query) }),
  });

  addPage(server, {
    route: 'POST /filings/:filing/correct',
    roles: MAY.file,
    params: FILING,
    takesFile: true,
    async handle(call) {
      const { principal, params, upload } = call;
      const { exporterId, reference } = await visibleFiling(deps, principal, params.filing);
      if (upload === null) throw badRequest('no_file', 'Choose the corrected workbook first.', 'file');
      try {
        const request = { filing: params.filing, source: upload, madeBy: principal.name };
        const { filing } = await correctFiling({ ...depsFor(httpApi, exporterId), principal }, request);
        if (filing.state === 'refused') throw new RefusedError(filing.errors as RefusedError['errors']);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        const title = 'Nothing was filed of the corrected workbook.';
        return { status: 422, html: await filingPage(server, call, undefined, { title, problems: error.errors }) };
      }
      return { to: filingHref(reference) };
    },
  });

  addPage(server, {
    route: 'GET /filings/:filing/workbook',
    params: FILING,
    handle: async ({ principal, params }) => workbookOf(deps, await visibleFiling(deps, principal, params.filing)),
  });
  addPage(server, {
    route: 'GET /filings/:filing/bundle',
    params: FILING,
    handle: async ({ principal, params }) => bundleOf(deps, await visibleFiling(deps, principal, params.filing)),
  });
  addPage(server, {
    route: 'GET /filings/:filing/pdfs',
    params: FILING,
    async handle({ principal, params: { filing: name } }) {
      const record = await visibleFiling(deps, principal, name);
      const { mode, reference, n } = record;
      return pdfsOf(deps, { mode, reference, n: isWhole(record, name) ? null : n });
    },
  });
  addList(server);
}

const MARK = z.tuple([z.string().regex(/^\d{1,16}$/), z.string().max(100)]);
const SEARCH = z.object({
  search: z.string().trim().max(200).optional(),
  state: z.enum(['', ...FILING_STATES]).optional(),
  cursor: z.string().max(1_000).optional(),
});
const LISTED = 50;

function addList(server: PageServer): void {
  const { pool, mode } = server.httpApi.deps;
  addPage(server, {
    route: 'GET /filings',
    query: SEARCH,
    async handle(viewer) {
      const { query } = viewer;
      const { search, state, cursor } = query;
      const [madeAt, filingId] = readCursor(cursor, MARK) ?? [];
      const found = await listFilings(pool, {
        ...{ mode, exporters: viewer.principal.exporters, limit: LISTED + 1 },
        states: state ? [state] : undefined,
        search: search || undefined,
        after: madeAt !== undefined && filingId !== undefined ? { madeAt, filingId } : undefined,
      });
      const last = found.length > LISTED ? found[LISTED - 1] : undefined;
      const marked = last && asCursor([last.mark.madeAt, last.mark.filingId]);
      const next =
        marked &&
        `/filings?${new URLSearchParams({ search: search ?? '', state: state ?? '', cursor: marked }).toString()}`;
      return { html: <ListPage viewer={viewer} filings={found.slice(0, LISTED)} query={query} next={next ?? null} /> };
    },
  });
}

const STATES = [['', 'Any'], ...FILING_STATES.map((state) => [state, state.replaceAll('_', ' ')] as const)] as const;

type Listed = { viewer: Viewer; filings: FilingSummary[]; query: z.output<typeof SEARCH>; next: string | null };

const ListPage = ({ viewer, filings, query, next }: Listed): JSX.Element => (
  <Layout viewer={viewer} title="Filings">
    <h1>Filings</h1>
    <form method="get" action="/filings" class="row" role="search">
      <Input label="Part of a reference, document, IRM or certificate number" name="search" value={query.search} />
      <Select label="State" name="state" options={STATES} value={query.state} />
      <button>Search</button>
    </form>
    <Table
      name="Filings"
      head={['Reference', 'Exporter', 'State', '#Certified', 'Made']}
      rows={filings.map(({ reference, n, exporterName, exporterId, state, counts, madeAt }) => [
        { safe: <Link href={filingHref(filingName({ reference, n }))} text={filingName({ reference, n })} /> },
        ...[exporterName ?? exporterId, { safe: <State state={state} /> }],
        ...[`${counts.certified} of ${counts.rows}`, { safe: <Time at={madeAt} /> }],
      ])}
    />
    <More href={next} text="Older filings" />
  </Layout>
);
