/** Whether a played plan broke a promise, by the authority's own book. */
import type { Certificate, Filing } from '../../src/sandbox/authority/world';
import { isFiledFor, readRows, type LedgerRow } from '../verdict';
import { isAtRest, type Open } from './close';
import type { Lab } from './lab';
import { hidesCertificates } from './lies';
import type { Played } from './play';

/** A row that the authority certified, in the request that carried it. */
interface Certified {
  request: Filing;
  mapping: string;
  document: string;
  certificate: Certificate | undefined;
  number: string;
}

/** @returns the promises that it broke, in words */
export async function judge(lab: Lab, played: Played, filings: readonly Open[]): Promise<string[]> {
  const { stage } = lab;
  const { company } = played;
  const [account, world] = [await lab.account(company), await stage.sandbox.state()];
  const requests = [...world.filings.values()].filter(({ customerId }) => customerId === company.exporterId);
  const rows = (await readRows(stage)).filter(({ iec }) => iec === company.iec);
  return [
    ...certifiedTwice(played, certifiedRows(requests, account.certificates)),
    ...(await lost(lab, played, account.certificates, rows, filings)),
    ...filings
      .filter((each) => !isAtRest(each))
      .map(
        ({ reference, n, state, attention }) =>
          `${reference}#${n} is left in ${state}: ${attention ?? 'nobody is asked'}`,
      ),
  ];
}

function certifiedRows(requests: readonly Filing[], certificates: readonly Certificate[]): Certified[] {
  return requests.flatMap((request) =>
    request.rows.flatMap(({ item, eBRCNumber: number }) =>
      number === null
        ? []
        : {
            ...{ request, number, document: item.sbCumInvoiceNumber },
            mapping: [item.irmNumber, item.sbCumInvoiceNumber].join(' and '),
            certificate: certificates.find(({ eBRCNumber }) => eBRCNumber === number),
          },
    ),
  );
}

function certifiedTwice(played: Played, certified: readonly Certified[]): string[] {
  const inOrder = [...certified].sort((one, other) => one.request.acceptedAt - other.request.acceptedAt);
  return inOrder.flatMap((second, nth) => {
    const first = inOrder
      .slice(0, nth)
      .findLast(({ mapping, request }) => mapping === second.mapping && request !== second.request);
    if (!first || isExcused(played, first, second)) return [];
    return [`${second.mapping} was certified twice: ${first.number} and ${second.number}`];
  });
}

/** What lets the second one pass: a cancelled first, or persons who said it, against the truth or on purpose. */
function isExcused({ plan, said, cancelled }: Played, first: Certified, second: Certified): boolean {
  const gone = cancelled.get(first.number);
  if (gone !== undefined && gone < second.request.acceptedAt) return true;
  const before = said.filter(({ at }) => at < second.request.acceptedAt);
  const two = (words: typeof said) => new Set(words.map(({ by }) => by)).size === 2;
  if (two(before.filter(({ kind, shown }) => kind === 'approve' && shown))) return true;
  const denied = before.filter(({ kind }) => kind === 'not filed');
  if (two(denied)) return true;
  // One person is enough where nothing can be seen of the first: it came later, or the service hid it in all ways.
  const unseen = denied.some(({ at }) => at < first.request.processAt);
  return denied.length > 0 && (unseen || hidden(plan, 'both'));
}

/** Whether the plan hides what was certified: in the lists, and in the balances. */
function hidden({ steps }: Played['plan'], what: 'lists' | 'both'): boolean {
  const lists = steps.some(
    (step) =>
      (step.do === 'lie' && hidesCertificates(step.lie)) ||
      (step.do === 'fault' && step.fault.kind === 'empty-details'),
  );
  const balances = steps.some(
    (step) =>
      (step.do === 'fault' && ['stale-balance', 'irm-amended'].includes(step.fault.kind)) || step.do === 'by hand',
  );
  return lists && (what === 'lists' || balances);
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
    ({ asked, rows }) =>
      asked &&
      rows.some(({ irm, document, state }) => state === 'sent' && irm === irmNumber && document === sbCumInvoiceNumber),
  );
}
