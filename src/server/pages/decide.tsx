/** What persons decide about a filing: what speaks against an answer, what each answer does, and who has to say it. */
import { personsNeeded } from '../../domain/filing/decision';
import { NO_READING } from '../../domain/filing/evidence';
import type { FilingView } from '../../domain/filing/view';
import { MAY, type Role } from '../../domain/principal';
import { Attempts, Decisions, OwnAnswer } from './filing-parts';
import { amountShown, shown } from '../views/words';
import type { Viewer } from './page';
import { Choice, filingHref, Fold, Form, Input, Section, Table, Time } from './parts';

/** What a form said that was refused: it is shown filled in again. */
export type Said = { as?: string; note?: string; requestId?: string; certificates?: string };
type Props = { filing: FilingView; viewer: Viewer; said?: Said };

const mayBy = ({ principal }: Viewer, roles: readonly Role[]): boolean =>
  principal.roles.some((role) => roles.includes(role));

/** Whether “not filed” needs two persons as things stand. */
const needsTwo = ({ attempts, evidence }: FilingView): boolean => {
  const accepted = attempts.some(({ verdict }) => verdict === 'accepted');
  return personsNeeded({ names: evidence?.names ?? [], accepted }) === 2;
};

/** The question of a filing with its evidence and, for who may, its answers. Nothing where nobody is asked. */
export const Decide = ({ filing, viewer, said }: Props): JSX.Element => {
  const { actions, asked, state, decisions, attempts } = filing;
  const isUnknown = state === 'outcome_unknown' || (asked && actions.includes('resolve'));
  const isToApprove = actions.includes('approve');
  if (!isUnknown && !isToApprove && decisions.length === 0) return <></>;
  return (
    <Section id="decide" title={isUnknown ? 'Was it filed?' : isToApprove ? 'May it be sent?' : 'Decisions'}>
      <OwnAnswer decisions={decisions} viewer={viewer} two={needsTwo(filing)} />
      {isUnknown && <Attempts attempts={attempts} />}
      <Evidence filing={filing} viewer={viewer} />
      {decisions.length > 0 && <Decisions decisions={decisions} />}
      {isToApprove && <ApproveForm filing={filing} viewer={viewer} said={said} />}
      {isUnknown && !asked && <p class="note">Evidence is being gathered. Nobody has to answer yet.</p>}
      {asked && actions.includes('resolve') && <ResolveForms filing={filing} viewer={viewer} said={said} />}
    </Section>
  );
};

const Evidence = ({ filing: { evidence, rows: sent }, viewer }: Props): JSX.Element => {
  if (evidence === null) return <></>;
  const { entries, balances, readAt, settledAt, attempt } = evidence;
  const against = attempt === null ? 'sending it' : '“it was not filed”';
  const read =
    readAt === null ? 'The certificates were not read yet' : `The certificates were last read whole at ${readAt}`;
  const until = settledAt === null ? '' : `; nobody can say “not filed” before ${settledAt}`;
  const currency = (irm: string) => sent.find(({ irmNumber }) => irmNumber === irm)?.currency ?? null;
  return (
    <>
      <h3 safe>{`${entries.length === 0 ? 'Nothing' : 'What'} speaks against ${against}`}</h3>
      <ul>
        {entries.map(({ text }) => (
          <li safe>{shown(text)}</li>
        ))}
      </ul>
      {balances.length > 0 && (
        <Table
          name="Balances"
          head={['IRM', '#Before it was sent', '#Now', 'Read']}
          rows={balances.map(({ irmNumber, before, now, nowAt }) => [
            ...[irmNumber, ...[before, now].map((at) => amountShown(at, currency(irmNumber), viewer.grouping))],
            { safe: <Time at={nowAt} /> },
          ])}
        />
      )}
      {attempt !== null && (
        <p class="hint" safe>
          {shown(`${read}${until}.`)}
        </p>
      )}
    </>
  );
};

/** What the viewer looked at: an answer is refused where more was found since. */
const looked = ({ evidence, attempt, contentHash }: FilingView) => ({
  shown: evidence?.names ?? [],
  attempt: attempt === null ? '' : String(attempt),
  contentHash: contentHash ?? '',
});

const ApproveForm = ({ filing, viewer, said }: Props): JSX.Element => {
  const { filingId, madeBy, evidence } = filing;
  const two = (evidence?.names.length ?? 0) > 0;
  if (madeBy === viewer.principal.name && !two && !viewer.singlePerson)
    return <p class="note">You made this filing: somebody else has to approve it.</p>;
  if (!mayBy(viewer, MAY.approve)) return <p class="note">Somebody with the role checker has to approve it.</p>;
  const text = two
    ? 'Two persons have to say so, each of whom was shown what stands above. Then it is sent beside it.'
    : `${madeBy ?? 'Somebody'} made it. Once it is approved, it is sent.`;
  return (
    <div class="card">
      <p class="prose" safe>
        {shown(text)}
      </p>
      <Form
        viewer={viewer}
        action={`${filingHref(filingId ?? '')}/approve`}
        hidden={looked(filing)}
        again="approve"
        button="Approve"
      >
        <Input
          label="Note"
          name="note"
          id="approve-note"
          value={said?.note}
          hint="What you looked at; may be left out."
        />
      </Form>
    </div>
  );
};

const BOTH =
  'Something speaks against it, so two persons have to say so, each of whom was shown what stands above. If a later reading explains all of it, one is enough.';
const ONE = 'One person is enough, if nothing more is found.';
const ANEW = 'It is carried out after the certificates were read anew.';
const UNREAD =
  'The certificates cannot be read now: it is carried out once they were read anew or, without a reading, once two persons who were shown this have said so.';
const NOT_FILED = [
  ['not-filed', 'it is sent again'],
  ['not-filed-end', 'it ends; its rows are free, and can be corrected'],
] as const;

const ResolveForms = ({ filing, viewer, said = {} }: Props): JSX.Element => {
  if (!mayBy(viewer, MAY.resolve)) return <p class="note">Somebody with the role checker has to answer.</p>;
  const { filingId, evidence, requestId } = filing;
  const names = evidence?.names ?? [];
  const persons = needsTwo(filing) ? BOTH : ONE;
  const form = { viewer, action: `${filingHref(filingId ?? '')}/resolve` };
  const filed = { ...looked(filing), as: 'filed' };
  const { as = '', note, requestId: request, certificates } = said;
  const why = (id: string, hint: string) => (
    <Input label="Note" name="note" id={`${id}-note`} value={note} required hint={hint} />
  );
  return (
    <>
      <p class="prose">
        Look at the authority’s portal first: is there a request or a certificate for these rows? Then give one of these
        answers.
      </p>
      <Fold
        title="It was not filed"
        text={`${persons} ${names.includes(NO_READING) ? UNREAD : ANEW}`}
        open={as.startsWith('not-filed')}
      >
        <Form {...form} hidden={looked(filing)} again="not-filed" button="Say “not filed”">
          <Choice legend="Then" name="as" options={NOT_FILED} />
          {why('not-filed', 'What you looked at, and what you saw.')}
        </Form>
      </Fold>
      {requestId === null && (
        <Fold
          title="It was filed, and the portal shows its request"
          open={request !== undefined}
          text="One person is enough. From then on the request is asked for what became of its rows."
        >
          <Form {...form} hidden={filed} again="filed" button="Say “filed”">
            <Input
              label="Request id"
              name="requestId"
              value={request}
              required
              hint="As the portal or the service shows it."
            />
            {why('filed', 'Where you saw it.')}
          </Form>
        </Fold>
      )}
      <Fold
        title="It was filed, and these are its certificates"
        open={certificates !== undefined}
        text="Two persons have to name the same certificates. Then the rows are certified with them."
      >
        <Form {...form} hidden={filed} again="certificates" button="Name these certificates">
          <Input label="Certificates" name="certificates" value={certificates} rows={4} required hint={CERTIFICATES} />
          {why('certificates', 'Where you saw them.')}
        </Form>
      </Fold>
    </>
  );
};

const CERTIFICATES = 'One in each line: the row, a space, the certificate’s number. Such as: 2 AB12345678';

/** Giving up, and continuing by hand. */
export const OtherActions = ({ filing, viewer }: Props): JSX.Element => {
  const { actions, filingId, madeBy } = filing;
  const { principal } = viewer;
  const href = filingHref(filingId ?? '');
  const own = madeBy === principal.name && principal.roles.includes('maker');
  return (
    <>
      {actions.includes('abandon') && (own || principal.roles.includes('checker')) && (
        <Fold title="Give it up" text="Nothing of it was sent. Its rows become free, and it ends.">
          <Form viewer={viewer} action={`${href}/abandon`} again="abandon" button="Give it up">
            <Input label="Note" name="note" id="abandon-note" required hint="Why." />
          </Form>
        </Fold>
      )}
      {actions.includes('resume') && mayBy(viewer, ['maker', 'checker', 'admin']) && (
        <Fold title="Continue" text="It is late. Where its run was lost, this starts one; otherwise nothing changes.">
          <Form viewer={viewer} action={`${href}/resume`} button="Continue" />
        </Fold>
      )}
    </>
  );
};
