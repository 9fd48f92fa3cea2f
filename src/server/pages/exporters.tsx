/** Exporters: readiness as a sentence, balances, portal credentials, and whether filings wait for an approval. */
import { z } from 'zod';
import { exportersAfter } from '../../ledger/exporters/exporters';
import { requireApproval } from '../../starter/exporters/change';
import { updateCredentials } from '../../starter/exporters/operations';
import {
  exporterViews,
  readExporterView,
  readIrmViews,
  type ExporterView,
  type IrmView,
} from '../../starter/exporters/views';
import { irmCursor, readIrmCursor } from '../../domain/identity';
import { knownExporter } from '../access/scope';
import { exporterName, visible } from '../http/fields';
import { badRequest, Problem } from '../http/problem';
import { Layout } from './layout';
import { assertFresh } from '../access/fresh';
import { amountShown, dayShown, readinessText, shown } from '../views/words';
import { addPage, type PageCall, type PageServer, type Viewer } from './page';
import { exporterHref, Fields, Form, Input, Link, More, Problems, Section, State, Table } from './parts';

const LISTED = 100;

type Listed = { viewer: Viewer; exporters: ExporterView[]; next: string | null };

const ListPage = ({ viewer, exporters, next }: Listed): JSX.Element => (
  <Layout viewer={viewer} title="Exporters">
    <h1>Exporters</h1>
    {exporters.length === 0 && <p>There are none yet. An administrator adds them (ebrc onboard).</p>}
    <ul class="list">
      {exporters.map((exporter) => (
        <li>
          <div class="what">
            <p>
              <Link href={exporterHref(exporter.exporterId)} text={exporter.name} /> <State state={exporter.state} />
            </p>
            <p class="quiet-text" safe>
              {shown([exporter.email, exporter.iec && `IEC ${exporter.iec}`].filter(Boolean).join(', '))}
            </p>
            <p safe>{shown(readinessText(exporter))}</p>
          </div>
        </li>
      ))}
    </ul>
    <More href={next} text="More exporters" />
  </Layout>
);

type Shown = { viewer: Viewer; exporter: ExporterView; irms: IrmView[]; next: string | null; said: string | null };

const ExporterPage = ({ viewer, exporter, irms, next, said }: Shown): JSX.Element => {
  const { exporterId, email, iec, companyName, address, readAt, requiresApproval, warnings } = exporter;
  return (
    <Layout viewer={viewer} title={shown(exporter.name)}>
      <h1 safe>{shown(exporter.name)}</h1>
      {said !== null && (
        <p class="note good" role="status" safe>
          {shown(said)}
        </p>
      )}
      <p class="lead">
        <State state={exporter.state} /> <span safe>{shown(readinessText(exporter))}</span>
      </p>
      {exporter.state === 'needs_credentials' && !viewer.principal.roles.includes('admin') && (
        <p class="note">Somebody with the role admin has to renew them on this page.</p>
      )}
      {warnings.length > 0 && <Problems problems={warnings} />}
      <Fields
        pairs={[
          ['E-mail', email],
          ['IEC', iec],
          ['Company', companyName],
          ['Address', address],
          ['Filings wait for an approval', requiresApproval ? 'yes' : 'no'],
          ['Read from the service', readAt],
          ['Id', exporterId],
        ]}
      />
      <p>
        <Link
          href={`/file/template?exporter=${encodeURIComponent(exporterId)}`}
          text="Its template, to fill in"
          button
        />
      </p>
      <Balances viewer={viewer} irms={irms} exporterId={exporterId} next={next} />
      {viewer.principal.roles.includes('admin') && <AdminForms viewer={viewer} exporter={exporter} />}
    </Layout>
  );
};

const IRM_HEAD = ['IRM', 'Issued', 'Remitter', '#Amount', '#Available', '#Held by our filings', '#Free'];

const Balances = (props: Pick<Shown, 'viewer' | 'irms' | 'next'> & { exporterId: string }): JSX.Element => {
  const { viewer, irms, next, exporterId } = props;
  const more = next === null ? null : `${exporterHref(exporterId)}?after=${encodeURIComponent(next)}`;
  return (
    <Section id="irms" title="Remittances and balances">
      <Table
        name="Remittances"
        head={IRM_HEAD}
        rows={irms.map((irm) => {
          const amount = (value: string | null) => amountShown(value, irm.currency, viewer.grouping);
          const available = irm.missing ? 'no longer listed' : amount(irm.available);
          const about = [irm.irmNumber, dayShown(irm.irmIssueDate), irm.remitterName];
          return [...about, amount(irm.amount), available, amount(irm.held), amount(irm.free)];
        })}
      />
      <More href={more} text="Older remittances" />
    </Section>
  );
};

const OFF =
  'Its filings wait for somebody else than who made them. To switch this off, two administrators have to ask for it within a day.';

const AdminForms = ({ viewer, exporter }: Pick<Shown, 'viewer' | 'exporter'>): JSX.Element => {
  const href = exporterHref(exporter.exporterId);
  const isOn = exporter.requiresApproval;
  const button = isOn ? 'Switch it off' : 'Let its filings wait for an approval';
  return (
    <>
      <Section id="credentials" title="Portal credentials">
        <p class="prose">
          They go straight to the vault, which only workers can open. Filings that wait for them continue by themselves.
        </p>
        <Form viewer={viewer} action={`${href}/credentials`} again="credentials" button="Renew">
          <Input label="User name at the authority’s portal" name="username" autocomplete="off" required />
          <Input label="Password there" name="password" type="password" autocomplete="off" required />
        </Form>
      </Section>
      <Section id="policy" title="Approval">
        <p class="prose">{isOn ? OFF : 'Its filings are sent without a second person.'}</p>
        <Form
          viewer={viewer}
          action={`${href}/policy`}
          hidden={{ approval: isOn ? 'off' : 'required' }}
          again="policy"
          quiet
          button={button}
        />
      </Section>
    </>
  );
};

const HANDED_IN = 'They were handed in, and are checked at the portal. Open this page again to see what came of it.';
const EXPORTER = z.object({ exporter: exporterName });
const token = z.string().max(200).optional();

async function exporterPage(
  { httpApi: { deps } }: PageServer,
  viewer: PageCall<{ exporter: string }>,
  { after, said = null }: { after?: string; said?: string | null },
): Promise<JSX.Element> {
  const { pool } = deps;
  const { exporterId } = await knownExporter(deps, viewer.principal, viewer.params.exporter);
  const from = after === undefined ? undefined : readIrmCursor(after);
  if (from === null) throw badRequest('bad_cursor', 'These remittances are not in the list.');
  const [exporter, irms] = await Promise.all([
    readExporterView(pool, exporterId),
    readIrmViews(pool, exporterId, { after: from, limit: LISTED + 1 }),
  ]);
  const last = irms.length > LISTED ? irms[LISTED - 1] : undefined;
  return (
    <ExporterPage {...{ viewer, exporter, said, next: last ? irmCursor(last) : null }} irms={irms.slice(0, LISTED)} />
  );
}

export function addExporterPages(server: PageServer): void {
  const { deps } = server.httpApi;
  const { pool, mode } = deps;

  addPage(server, {
    route: 'GET /exporters',
    query: z.object({ after: z.string().max(200).default('') }),
    async handle(viewer) {
      const { after } = viewer.query;
      const { exporters } = viewer.principal;
      const rows = await exportersAfter(pool, { mode, after, limit: LISTED + 1, exporters });
      const last = rows.length > LISTED ? rows[LISTED - 1] : undefined;
      const shownExporters = await exporterViews(pool, rows.slice(0, LISTED));
      const next = last ? `/exporters?after=${encodeURIComponent(last.exporterId)}` : null;
      return { html: <ListPage viewer={viewer} exporters={shownExporters} next={next} /> };
    },
  });

  addPage(server, {
    route: 'GET /exporters/:exporter',
    params: EXPORTER,
    query: z.object({ after: z.string().max(500).optional(), said: z.literal('credentials').optional() }),
    async handle(call) {
      const { after, said } = call.query;
      return { html: await exporterPage(server, call, { after, said: said && HANDED_IN }) };
    },
  });

  addPage(server, {
    route: 'POST /exporters/:exporter/credentials',
    roles: ['admin'],
    params: EXPORTER,
    fields: z.object({ username: visible(200), password: z.string().min(1, 'is empty').max(500), token }),
    async handle(call) {
      const { principal, params, fields } = call;
      await assertFresh({ ...server, pool }, call.request, fields.token);
      const { exporterId } = await knownExporter(deps, principal, params.exporter);
      const { username, password } = fields;
      const outcome = await updateCredentials(deps, exporterId, { username, password }, { by: principal.name });
      if (outcome.state === 'refused') throw new Problem(422, 'refused', outcome.message ?? 'They were refused.');
      // Elsewhere, so that reading the page anew sends no password again: the portal locks after wrong ones.
      return { to: `${exporterHref(exporterId)}?said=credentials` };
    },
  });

  addPage(server, {
    route: 'POST /exporters/:exporter/policy',
    roles: ['admin'],
    params: EXPORTER,
    fields: z.object({ approval: z.enum(['required', 'off']), token }),
    async handle(call) {
      const { principal, params, fields } = call;
      await assertFresh({ ...server, pool }, call.request, fields.token);
      const { exporterId } = await knownExporter(deps, principal, params.exporter);
      const asked = { required: fields.approval === 'required', by: principal.name };
      const { waits } = await requireApproval({ ...deps, principal }, exporterId, asked);
      return { html: await exporterPage(server, call, { said: waits ?? 'It is changed.' }) };
    },
  });
}
