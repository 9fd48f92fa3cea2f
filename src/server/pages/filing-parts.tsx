/** What a filing consists of: rows with their certificates, attempts, what persons decided, and its story. */
import type { AttemptView, DecisionView, EventView, FilingView, RowView } from '../../domain/filing/view';
import type { Viewer } from './page';
import { amountShown, dayShown, shown, timeText } from '../views/words';
import { Link, More, Section, State, Table, Time } from './parts';

/** The filters of the rows, with the states that each shows. */
const FILTERS: Readonly<Record<string, { text: string; states: readonly string[] }>> = {
  all: { text: 'All', states: ['planned', 'sent', 'certified', 'rejected', 'released'] },
  errored: { text: 'Rejected or freed', states: ['rejected', 'released'] },
  open: { text: 'Open', states: ['planned', 'sent'] },
  certified: { text: 'Certified', states: ['certified'] },
};
const PER_PAGE = 100;
const ROW_HEAD = ['#Row', 'IRM', 'Document', '#Mapped', 'State', 'Certificate', 'What the authority says'];

type RowsProps = { rows: readonly RowView[]; viewer: Viewer; href: string; filter: string; page: number };

export const Rows = ({ rows, viewer, href, filter, page }: RowsProps): JSX.Element => {
  const of = (name: string) => rows.filter(({ state }) => FILTERS[name]?.states.includes(state));
  const listed = of(filter);
  const link = (to: number) => `${href}?rows=${filter}&page=${to}#rows`;
  const part = listed.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  return (
    <Section id="rows" title={`Rows (${listed.length})`}>
      <p class="more">
        {Object.entries(FILTERS).map(([name, { text }]) => (
          <>
            <Link href={`${href}?rows=${name}#rows`} text={`${text} (${of(name).length})`} />{' '}
          </>
        ))}
      </p>
      <Table
        name="Rows"
        head={ROW_HEAD}
        rows={part.map((row) => [
          ...[row.row, row.irmNumber, row.sbCumInvoiceNumber],
          amountShown(row.mappedIRMAmountFCC, row.currency, viewer.grouping),
          { safe: <State state={row.state} /> },
          { safe: <CertificateOf row={row} /> },
          row.errors.join('; '),
        ])}
      />
      <More href={page > 1 ? link(page - 1) : null} text="The rows before" />
      <More href={page * PER_PAGE < listed.length ? link(page + 1) : null} text="The next rows" />
    </Section>
  );
};

const CertificateOf = ({ row: { eBRCNumber, eBRCDate, pdf } }: { row: RowView }): JSX.Element => {
  if (eBRCNumber === null) return <></>;
  const named = encodeURIComponent(eBRCNumber);
  return (
    <>
      <Link href={`/certificates?number=${named}`} text={eBRCNumber} /> <span safe>{dayShown(eBRCDate)}</span>{' '}
      {pdf !== null && <Link href={`/certificates/${named}/pdf`} text="PDF" />}
    </>
  );
};

/** What was sent, when, and what the service said. */
export const Attempts = ({ attempts }: { attempts: readonly AttemptView[] }): JSX.Element => (
  <Table
    name="What was sent"
    head={['#Attempt', 'Sent', 'Answered', 'What is known of it', 'How it ended', 'Request']}
    rows={attempts.map(({ number, markedAt, answeredAt, answerStatus, verdict, reason, said, requestId }) => [
      ...[number, { safe: <Time at={markedAt} /> }],
      // Where no answer came, the time is that of giving up.
      answerStatus === null ? 'no answer came' : { safe: <Time at={answeredAt} /> },
      ...[{ safe: <State state={verdict} /> }, said ?? reason, requestId ?? 'none'],
    ])}
  />
);

const SAID: Readonly<Record<DecisionView['kind'], string>> = {
  approve: 'It may be sent',
  filed: 'It was filed',
  not_filed: 'It was not filed',
  abandon: 'It is given up',
};

/** What persons decided, and what they were shown. */
export const Decisions = ({ decisions }: { decisions: readonly DecisionView[] }): JSX.Element => (
  <>
    <h3>What was said</h3>
    <Table
      name="What was said"
      head={['Said', 'By', 'When', 'Shown', 'Note', 'Came of it']}
      rows={decisions.map((decision) => [
        saidText(decision),
        decision.principal ? decision.by : `${decision.by} (a claimed name)`,
        { safe: <Time at={decision.at} /> },
        decision.shown.join(', ') || 'nothing against it',
        decision.note,
        [decision.outcome?.replace('_', ' ') ?? 'it waits', decision.why].filter(Boolean).join(': '),
      ])}
    />
  </>
);

/** What the viewer said last and what came of it: whoever clicks twice, or lost the answer, sees that it stands. */
export const OwnAnswer = ({
  decisions,
  viewer,
  two,
}: {
  decisions: readonly DecisionView[];
  viewer: Viewer;
  two: boolean;
}) => {
  const own = decisions.findLast(({ by, principal }) => principal && by === viewer.principal.name);
  if (own === undefined || own.outcome === 'refused' || own.outcome === 'void') return <></>;
  const { kind, by, certificates, outcome, why } = own;
  const others = decisions.filter((each) => each.kind === kind && each.by !== by && each.outcome === null);
  const needsTwo = two || kind === 'approve' || certificates.length > 0;
  const isAlone = needsTwo && others.length === 0 && !viewer.singlePerson;
  const waits = isAlone ? ' for somebody else to say the same' : why ? `: ${why}` : '';
  const came = outcome === null ? `It is recorded, and waits${waits}.` : 'It was carried out.';
  return (
    <p class="note" role="status" safe>
      {shown(`You said “${saidText(own)}” at ${timeText(own.at)}. ${came}`)}
    </p>
  );
};

function saidText({ kind, requestId, certificates, ends }: DecisionView): string {
  const named = certificates.map(({ row, eBRCNumber }) => `row ${row}: ${eBRCNumber}`).join(', ');
  return [SAID[kind], requestId && `as request ${requestId}`, named, ends && 'and ends'].filter(Boolean).join(', ');
}

type StoryProps = { events: readonly EventView[]; href: string; next: string | null };

export const Story = ({ events, href, next }: StoryProps): JSX.Element => (
  <Section id="story" title="What happened">
    <Table
      name="What happened"
      head={['When', 'What', 'Who']}
      rows={events.map(({ at, text, who }) => [{ safe: <Time at={at} /> }, text, who])}
    />
    <More href={next === null ? null : `${href}?story=${next}#story`} text="What happened later" />
  </Section>
);

/** How far it is, in rows. */
export const Progress = ({ counts }: Pick<FilingView, 'counts'>): JSX.Element => {
  const { rows, certified, archived, errored, open } = counts;
  const text = `${certified} of ${rows} rows certified, ${errored} rejected or freed, ${open} open; ${archived} PDFs stored`;
  return (
    <p>
      <label>
        <span safe>{text}</span>
        <progress max={String(Math.max(rows, 1))} value={String(certified + errored)}></progress>
      </label>
    </p>
  );
};
