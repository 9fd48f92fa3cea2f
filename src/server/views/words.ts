/** Texts, times and amounts as the pages show them. */
import { dateText, KOLKATA_OFFSET_MS, withTimes } from '../../domain/dates';
import { isAmount } from '../../domain/money';
import { printable } from '../../domain/text';
import type { ExporterView } from '../../starter/exporters/views';

export type Grouping = 'indian' | 'western';

/** What the field calls a command line's answer, as these pages name it. */
const ON_PAGES: readonly [command: RegExp, words: string][] = [
  [
    /`?ebrc resolve\b(?: F[0-9A-F]{15}\b| FILING\b)?(?: --as [\w|-]+| --\S+ [A-Z|=]+| --note \S+)*`?/g,
    '“Was it filed?” on its page',
  ],
  [
    /(?:give )?--allow-duplicate \S+=REASON(?: asks a second person)?/g,
    'ask whoever runs this service to file that with a reason',
  ],
  [/`?ebrc approve\b(?: F[0-9A-F]{15}\b| FILING\b)?`?/g, '“Approve” on its page'],
  [/`?ebrc abandon\b(?: F[0-9A-F]{15}\b| FILING\b)?`?/g, '“Give it up” on its page'],
  [/`?ebrc correct\b(?: F[0-9A-F]{15}\b| FILING\b)?(?: FILE\b)?`?/g, '“Correct” on its page'],
  [/`?ebrc resume\b(?: F[0-9A-F]{15}\b| FILING\b)?`?/g, '“Continue” on its page'],
  [/`?ebrc list\b`?/g, '“Filings”'],
  [/`?ebrc exporters\b`?/g, '“Exporters”'],
  [/`?ebrc findings\b`?/g, '“Needs you”'],
  [/`?ebrc credentials\b(?: [\w@.-]+)?(?: --[\w-]+(?: …)?)*`?/g, '“Portal credentials” on the exporter’s page'],
];

/** A text of ours or of others for a page: printable, times as India reads them, no commands. */
export function shown(text: string | number | null | undefined): string {
  let result = printable(withTimes(String(text ?? ''), timeText));
  for (const [command, words] of ON_PAGES) result = result.replace(command, words);
  return result;
}

export const timeText = (at: string): string =>
  `${new Date(Date.parse(at) + KOLKATA_OFFSET_MS).toISOString().slice(0, 16).replace('T', ' ')} IST`;

/** How long ago, in one unit. */
export function ageText(at: string): string {
  const minutes = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} days`;
}

const GROUPED = {
  indian: new Intl.NumberFormat('en-IN', { minimumFractionDigits: 2, maximumFractionDigits: 20 }),
  western: new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 20 }),
};

/** An amount with its currency, grouped as the viewer chose. */
export function amountShown(amount: string | number | null, currency: string | null, grouping: Grouping): string {
  if (amount === null) return 'unknown';
  // Intl formats a text as an exact decimal; as a number it would lose digits.
  const text = isAmount(amount)
    ? GROUPED[grouping].format(amount as Intl.StringNumericLiteral)
    : printable(String(amount));
  return [text, currency && printable(currency)].filter(Boolean).join(' ');
}

export const dayShown = (date: string | null): string => shown(dateText(date));

/** Whether it can file, as a sentence. */
export function readinessText({ state, activatesAt, credentialsProblem }: ExporterView): string {
  const texts: Readonly<Record<ExporterView['state'], string>> = {
    created: 'It was created, and has no portal credentials yet: nothing can be filed for it.',
    unvalidated: 'Its portal credentials were not confirmed yet, or it was deactivated: nothing can be filed for it.',
    needs_credentials: `Its portal credentials are wrong: ${credentialsProblem ?? 'the authority refused them'}. Renew them below.`,
    activation_pending: activatesAt
      ? `The authority opens access at ${timeText(activatesAt)}, in ${inText(activatesAt)}. What is filed before waits for it.`
      : 'The authority has not opened access yet. What is filed before waits for it.',
    ready: 'It is ready: what is filed for it is sent.',
  };
  return texts[state];
}

function inText(at: string): string {
  const minutes = Math.max(0, Math.ceil((Date.parse(at) - Date.now()) / 60_000));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
