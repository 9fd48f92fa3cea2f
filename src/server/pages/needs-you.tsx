/** The first page: what needs somebody, the gravest and oldest first, each with its next action. */
import { FINDING_ID, type FindingView } from '../../domain/reconciliation/findings';
import type { FilingSummary } from '../../domain/filing/view';
import { filingName } from '../../domain/names';
import { counted } from '../../domain/text';
import { NEEDS_YOU } from '../../ledger/principals/sessions';
import { acknowledgeFinding } from '../../starter/reconcile';
import { renderReport } from '../../starter/report';
import { note } from '../http/fields';
import { Problem } from '../http/problem';
import { z } from 'zod';
import { Layout, Live } from './layout';
import { ageText, amountShown, shown } from '../views/words';
import { addPage, type PageServer, type Viewer } from './page';
import { attentionText, exporterHref, filingHref, Form, Input, Link, Section, State } from './parts';
import { MOST, readNeeds, type Needs } from '../views/needs-you';

/** The one next action of a filing: what its button says, and where it leads. */
function nextAction({ filingId, reference, n, actions, exporterId, asked }: FilingSummary): [string, string] {
  const href = filingHref(filingId ?? filingName({ reference, n }));
  if (actions.includes('approve')) return ['Look and approve', `${href}#decide`];
  if (actions.includes('resolve') && asked) return ['Say what became of it', `${href}#decide`];
  if (actions.includes('credentials')) return ['Renew credentials', `${exporterHref(exporterId)}#credentials`];
  if (actions.includes('correct')) return ['Correct it', `${href}#correct`];
  return ['Look at it', href];
}

const FilingItem = ({ filing }: { filing: FilingSummary }): JSX.Element => {
  const { reference, n, exporterName, exporterId, state, attention, madeAt, waiting, counts } = filing;
  const [text, href] = nextAction(filing);
  const since = waiting?.since ?? madeAt ?? new Date().toISOString();
  return (
    <li>
      <div class="what">
        <p>
          <Link href={href.split('#')[0] ?? href} text={filingName({ reference, n })} /> <State state={state} />
        </p>
        <p class="quiet-text" safe>
          {shown(`${exporterName ?? exporterId}, ${counted(counts.rows, 'row')}, waiting for ${ageText(since)}`)}
        </p>
        <p safe>{attentionText(attention ?? `It waits for ${waiting?.for ?? 'somebody'}.`)}</p>
      </div>
      <Link href={href} text={text} button />
    </li>
  );
};

const FindingItem = ({ finding, viewer }: { finding: FindingView; viewer: Viewer }): JSX.Element => {
  const { id, kind, exporterName, eBRCNumber, irmNumber, filingId, amount, currency, ageDays, reason, advice } =
    finding;
  const value = amount === null ? null : amountShown(amount, currency, viewer.grouping);
  const about = [exporterName, eBRCNumber && `certificate ${eBRCNumber}`, irmNumber && `IRM ${irmNumber}`, value];
  const may = viewer.principal.roles.some((role) => role === 'checker' || role === 'admin');
  return (
    <li>
      <div class="what">
        <p>
          <strong safe>{shown(kind.replaceAll('_', ' '))}</strong>
        </p>
        <p class="quiet-text" safe>
          {shown([...about, `for ${counted(ageDays, 'day')}`].filter(Boolean).join(', '))}
        </p>
        <p safe>{shown(reason === null || reason === advice ? advice : `${reason} ${advice}`)}</p>
        {may && kind !== 'ledger_went_back' && (
          <details>
            <summary>Acknowledge it</summary>
            <Form viewer={viewer} action={`/findings/${id}/acknowledge`} button="Acknowledge">
              <Input label="Why it is no cause for concern" name="note" id={`note-${id}`} required />
            </Form>
          </details>
        )}
      </div>
      {filingId !== null && <Link href={filingHref(filingId)} text="Look at the filing" button />}
    </li>
  );
};

const counting = (title: string, count: number): string => `${title} (${count}${count >= MOST ? ' or more' : ''})`;

const NeedsYouPage = ({ viewer, groups, found, seen }: { viewer: Viewer; seen: string } & Needs): JSX.Element => (
  <Layout viewer={viewer} title="Needs you">
    <h1>Needs you</h1>
    <div id="needs">
      {groups.length + found.length === 0 && <p class="lead">Nothing needs you now.</p>}
      {groups.map(({ title, filings }, at) => (
        <Section id={`group-${at}`} title={counting(title, filings.length)}>
          <ul class="list">
            {filings.map((filing) => (
              <FilingItem filing={filing} />
            ))}
          </ul>
        </Section>
      ))}
      {found.length > 0 && (
        <Section id="findings" title={counting('Differences that were found', found.length)}>
          <ul class="list">
            {found.map((finding) => (
              <FindingItem finding={finding} viewer={viewer} />
            ))}
          </ul>
        </Section>
      )}
    </div>
    {viewer.principal.exporters === null && (
      <Section id="reports" title="Reports">
        <p>
          <Link href="/reports/daily" text="The daily report" /> and{' '}
          <Link href="/reports/ageing" text="the ageing of open amounts" />, as pages to keep.
        </p>
      </Section>
    )}
    {viewer.principal.exporters === null && <Live href="/" about={NEEDS_YOU} seen={seen} parts={['needs']} />}
  </Layout>
);

export function addNeedsYou(server: PageServer): void {
  const { deps } = server.httpApi;

  addPage(server, {
    route: 'GET /',
    async handle(viewer) {
      // The version first: what changes while the page is made is read anew.
      const seen = await server.live.versionOf(NEEDS_YOU);
      return { html: <NeedsYouPage {...{ viewer, seen }} {...await readNeeds(deps, viewer.principal.exporters)} /> };
    },
  });

  addPage(server, {
    route: 'POST /findings/:id/acknowledge',
    roles: ['checker', 'admin'],
    params: z.object({ id: z.string().regex(FINDING_ID) }),
    fields: z.object({ note }),
    async handle({ principal: { name: by, exporters }, params: { id }, fields }) {
      await acknowledgeFinding(deps, { id, note: fields.note, by, exporters });
      return { to: '/' };
    },
  });

  addPage(server, {
    route: 'GET /reports/:report',
    params: z.object({ report: z.enum(['daily', 'ageing']) }),
    async handle({ principal: { exporters }, params: { report }, grouping }) {
      if (exporters !== null)
        throw new Problem(403, 'exporters_limited', 'A report is about all exporters, and you see some of them.');
      const { name, content } = await renderReport(deps, { report, grouping });
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        'content-disposition': `attachment; filename="${name}"`,
      };
      return { headers, body: content };
    },
  });
}
