/** Whether a played plan broke a promise, by the authority's own book. */
import type { Certificate, Filing } from '../../sandbox/authority/world';
import { isEnd } from '../../src/domain/filing/states';
import { isFiledFor, readRows, type LedgerRow } from '../verdict';
import { isAtRest, type Open } from './close';
import { PEOPLE, type Lab } from './lab';
import { hidesCertificates } from './lies';
import type { Played, Said } from './operate';

/** A row that the authority certified, in the request that carried it. */
interface Certified {
  request: Filing;
  mapping: string;
  number: string;
}

/** @returns the promises that it broke, in words */
export async function judge(lab: Lab, played: Played, filings: readonly Open[]): Promise<string[]> {
  const { stage } = lab;
  const { company } = played;
  const [account, world] = [await lab.account(company), await stage.sandbox.state()];
  const requests = [...world.filings.values()].filter(({ customerId }) => customerId === company.exporterId);
  const said = await carriedOut(lab, played);
  const rows = (await readRows(stage)).filter(({ iec }) => iec === company.iec);
  return [
    ...certifiedTwice({ ...played, said }, certifiedRows(requests), filings),
    ...(await lost(lab, played, account.certificates, rows, filings)),
    ...[...played.recorded]
      .filter((reference) => !filings.some((each) => each.reference === reference))
      .map((reference) => `${reference} was recorded, and is not in the ledger`),
    ...filings
      .filter((each) => !isAtRest(each))
      .map(
        ({ reference, n, state, attention }) =>
          `${reference}#${n} is left in ${state}: ${attention ?? 'nobody is asked'}`,
      ),
  ];
}

/** What persons said and the ledger carried out; after a restore it does not know what that was. */
async function carriedOut({ stage }: Lab, { company, plan, said }: Played): Promise<Said[]> {
  if (plan.steps.some((step) => step.do === 'restore ledger')) return said;
  const { rows } = await stage.pool.query<{ key: string }>(
    `SELECT DISTINCT concat_ws(' ', f.reference, replace(d.kind, '_', ' '), d.name) AS key FROM decisions d
       JOIN filings f USING (filing_id) WHERE f.exporter_id = $1 AND d.outcome = 'carried_out'`,
    [company.exporterId],
  );
  const done = new Set(rows.map(({ key }) => key));
  return said.filter(({ reference, kind, by }) => done.has(`${reference} ${kind} ${PEOPLE[by] ?? ''}`));
}

function certifiedRows(requests: readonly Filing[]): Certified[] {
  return requests.flatMap((request) =>
    request.rows.flatMap(({ item, eBRCNumber: number }) =>
      number === null ? [] : { request, number, mapping: `${item.irmNumber} and ${item.sbCumInvoiceNumber}` },
    ),
  );
}

function certifiedTwice(played: Played, certified: readonly Certified[], filings: readonly Open[]): string[] {
  const inOrder = [...certified].sort((one, other) => one.request.acceptedAt - other.request.acceptedAt);
  return inOrder.flatMap((second, nth) => {
    const first = inOrder
      .slice(0, nth)
      .findLast(({ mapping, request }) => mapping === second.mapping && request !== second.request);
    if (!first || isExcused(played, first, second, filings)) return [];
    return [`${second.mapping} was certified twice: ${first.number} and ${second.number}`];
  });
}

/** What lets the second one pass: a cancelled first, or persons who said it, against the truth or on purpose. */
function isExcused(played: Played, first: Certified, second: Certified, filings: readonly Open[]): boolean {
  const gone = played.cancelled.get(first.number);
  if (gone !== undefined && gone < second.request.acceptedAt) return true;
  const words = (kind: Said['kind'], { request }: Certified) =>
    played.said.filter(
      (each) => each.kind === kind && each.at < second.request.acceptedAt && mayCarry(each, request, filings),
    );
  const two = (said: readonly Said[]) => new Set(said.map(({ by }) => by)).size === 2;
  // Either of the two may have been let in beside the other, which was sent later.
  if ([first, second].some((each) => two(words('approve', each).filter(({ shown }) => shown)))) return true;
  const denied = words('not filed', first);
  if (two(denied)) return true;
  // One person is enough where nothing can be seen of the first: it came later, or the service hid it in all ways.
  const unseen = denied.some(({ at }) => at < first.request.processAt);
  return denied.length > 0 && (unseen || isHidden(played.plan));
}

/** Whether what was said is of a filing that the request may have carried: it has all of its rows. */
const mayCarry = ({ reference }: Said, request: Filing, filings: readonly Open[]): boolean =>
  filings.some(
    (each) =>
      each.reference === reference &&
      request.rows.every(({ item }) =>
        each.rows.some((row) => row.irm === item.irmNumber && row.document === item.sbCumInvoiceNumber),
      ),
  );

/** Whether the plan hides what was certified: in the lists, and in the balances. */
function isHidden({ steps }: Played['plan']): boolean {
  const lists = steps.some(
    (step) =>
      (step.do === 'lie' && hidesCertificates(step.lie)) ||
      (step.do === 'fault' && step.fault.kind === 'empty-details'),
  );
  const hiding = ['stale-balance', 'irm-amended'];
  return (
    lists && steps.some((step) => step.do === 'by hand' || (step.do === 'fault' && hiding.includes(step.fault.kind)))
  );
}

/** Certificates of our requests that no row has, no question is about and no finding names; and those of wrong rows. */
async function lost(
  lab: Lab,
  { company }: Played,
  certificates: readonly Certificate[],
  rows: readonly LedgerRow[],
  filings: readonly Open[],
): Promise<string[]> {
  const ours = certificates.filter(({ requestId }) => requestId !== null);
  const problems: string[] = [];
  const owned = new Map(rows.flatMap((row) => (row.eBRCNumber === null ? [] : [[row.eBRCNumber, row] as const])));
  const unknown = ours.filter((certificate) => {
    const row = owned.get(certificate.eBRCNumber);
    if (row && !isFiledFor(certificate, row) && !byPersons(row))
      problems.push(
        `certificate ${certificate.eBRCNumber} is with a row of ${row.reference} that it was not filed for`,
      );
    return !row && !isAskedAbout(certificate, filings);
  });
  const known = new Set(certificates.map(({ eBRCNumber }) => eBRCNumber));
  for (const number of owned.keys())
    if (!known.has(number)) problems.push(`certificate ${number} is not the authority's`);
  if (unknown.length === 0) return problems;
  // What nobody knows of has to be found by a reconciliation.
  const { findings } = await lab.stage.client.reconcile({ exporter: company.exporterId }, { wait: true });
  const found = new Set(findings.filter(({ closedAt }) => closedAt === null).map(({ eBRCNumber }) => eBRCNumber));
  return [
    ...problems,
    ...unknown
      .filter(({ eBRCNumber }) => !found.has(eBRCNumber))
      .map(({ eBRCNumber, sbCumInvoiceNumber }) => `certificate ${eBRCNumber} of ${sbCumInvoiceNumber} is lost`),
  ];
}

const byPersons = ({ certifiedBy }: LedgerRow): boolean => certifiedBy === 'persons';

function isAskedAbout({ irmNumber, sbCumInvoiceNumber }: Certificate, filings: readonly Open[]): boolean {
  return filings.some(
    ({ state, attention, rows }) =>
      !isEnd(state) &&
      attention !== null &&
      rows.some(({ irm, document, state }) => state === 'sent' && irm === irmNumber && document === sbCumInvoiceNumber),
  );
}
