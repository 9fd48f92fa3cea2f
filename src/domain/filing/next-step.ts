/** The whole story of a filing: what its run does next, by what is known. Pure; read it from top to bottom. */
import { HOUR_MS, MINUTE_MS } from '../dates';
import { counted } from '../text';
import { FRESH_MS, isUnread, isUnreadable, NO_READING } from './evidence';
import type { AttemptFacts, Decided, Facts, Next } from './facts';
import { endOf, type FilingState } from './states';

/** How long it is waited for a reading that is under way. */
const UNDER_WAY_MS = 30_000;
/** Waits look again at least this often, so that a lost poke costs time and not truth. */
const LOOK_AGAIN_MS = 15 * MINUTE_MS;
/** PDFs that are fetched at once. */
const AT_ONCE = 5;

export function nextStep(f: Facts): Decided {
  if (f.filing.closed) return ended(f);
  if (f.attempt === null) return beforeSending(f);
  if (f.attempt.verdict === 'sending')
    return stay('submitting', waitUntil(f.attempt.answerBy, 'Wait for the answer'), 'it is being sent');
  const { attempt } = f;
  const decided = attempt.verdict === 'unknown' ? settle(f, attempt) : follow(f, attempt);
  return paused(f, decided) ?? decided;
}

/** Ended: its workbook is annotated, and requests that are still open are polled until they are overdue. */
function ended(f: Facts): Decided {
  const { state, toAnnotate, dueAt } = f.filing;
  if (toAnnotate)
    return { ...atEnd(f, state, ''), next: { do: 'annotate', summary: 'Write the outcome into the workbook' } };
  if (f.openRequests > 0 && dueAt !== null && f.now < dueAt)
    return stay(state, { do: 'poll', until: dueAt, summary: 'Follow the other request' }, '');
  return atEnd(f, state, '');
}

/** The end: freed rows wait for a correction. */
function atEnd({ toCorrect }: Facts, state: FilingState, text: string): Decided {
  const advice = state === 'needs_correction' ? 'Nothing of it was filed' : 'The authority rejected rows';
  const attention = `${advice}: correct them and file them again with \`ebrc correct\`.`;
  return { ...stay(state, { do: 'end' }, text), attention: toCorrect && state !== 'abandoned' ? attention : null };
}

/** check → approve → reserve → send. Nothing of it may have arrived. */
function beforeSending(f: Facts): Decided {
  const { filing, against, pause } = f;
  const state: FilingState = filing.checkedAt === null ? 'checking' : 'submitting';
  const end = endOf(f.rows);
  if (end !== null) return atEnd(f, end, 'nothing of it is to be sent any more');
  // Its own certificates, from a send that the ledger lost, would refuse it.
  if (!f.ledgerWhole) {
    const attention = 'The ledger went back and is compared with Temporal: nothing is sent. See `ebrc ledger status`.';
    return { ...stay(state, waitUntil(f.now + MINUTE_MS, 'Wait for the ledger'), attention), attention };
  }
  if (pause && !pause.over) return paused(f, stay(state, waitUntil(pause.until, ''), pause.text)) as Decided;

  if (filing.iec === null)
    return stay(state, { do: 'readExporter', summary: 'Find out the IEC of the exporter' }, 'its IEC is not known yet');
  if (filing.checkedAt !== null && filing.approval !== null && !filing.approved) return awaitApproval(f);

  const reading = readingFirst(f);
  if (reading !== null) return stay(state, reading, 'certificates and balances are read');
  if (filing.checkedAt === null) return stay('checking', { do: 'check' }, 'it is checked');
  if ((against?.names.length ?? 0) > 0 || (unreadable(f) && !filing.unreadApproved)) return awaitApproval(f);
  if (filing.reservedAt === null || filing.reservedAt < f.now - FRESH_MS) {
    return stay('submitting', { do: 'reserve' }, 'its balances are reserved');
  }
  const n = f.attempts + 1;
  const summary = `Send ${counted(f.rows.planned, 'row')}${n === 1 ? '' : `, attempt ${n}`}`;
  return stay('submitting', { do: 'submit', n, channel: filing.channel, summary }, 'it is being sent');
}

/** The reading that is needed before sending; null: none, or it failed for a settle time and persons decide. */
function readingFirst(f: Facts): Next | null {
  const { readings, breaker, now } = f;
  const unread = isUnread(certificatesRead(f));
  const staleIrms = readings.irmsAt === null || readings.irmsAt < now - FRESH_MS;
  if (!breaker && !staleIrms && (!unread || unreadable(f))) return null;
  if (readings.underWay) return waitUntil(now + UNDER_WAY_MS, 'Wait for a reading under way');
  const nextAt = readings.failures === 0 ? 0 : (readings.endedAt ?? 0) + backoffMs(readings.failures);
  if (nextAt > now) return waitUntil(nextAt, 'Try to read again');
  return read(unread || breaker ? 'both' : 'irms', 2, 'Read the certificates and balances before sending');
}

const certificatesRead = ({ readings, against, now }: Facts) => ({
  wholeAt: readings.wholeAt,
  failingSince: readings.failingSince,
  readAfter: against?.readAfter ?? null,
  now,
});
const unreadable = (f: Facts): boolean => isUnreadable(certificatesRead(f), f.settleMs);

function awaitApproval(f: Facts): Decided {
  const { approval, unreadApproved } = f.filing;
  const names = [...(f.against?.names ?? []), ...(unreadable(f) && !unreadApproved ? [NO_READING] : [])];
  const attention =
    names.length > 0
      ? `Something stands against sending it (${names.join(', ')}). Two persons approve it, name the certificate as the row's with \`ebrc resolve --as filed --certificate\`, or abandon it.`
      : approval === 'duplicate'
        ? 'It repeats a mapping on purpose: a second person has to approve it.'
        : 'It waits for the approval of somebody other than its maker.';
  return {
    ...stay('awaiting_approval', waitUntil(f.now + LOOK_AGAIN_MS, 'Wait for an approval'), attention),
    ...{ attention, asked: true },
  };
}

/** Its outcome is unknown: read, adopt, and ask once the settle time is over. */
function settle(f: Facts, attempt: AttemptFacts): Decided {
  const asked = attempt.settled;
  const attention = asked ? askAbout(attempt) : null;
  const text = `attempt ${attempt.number} may have been sent: its outcome is unknown (${attempt.reason ?? 'no answer'})`;
  return { ...stay('outcome_unknown', gather(f, attempt), text), attention, asked };
}

/** Accepted: poll its request until every row has its outcome, then collect. */
function follow(f: Facts, attempt: AttemptFacts): Decided {
  const { rows, filing } = f;
  const overdue = filing.dueAt !== null && f.now >= filing.dueAt;
  if (rows.sent === 0) return collect(f, overdue);
  const request = attempt.requestId === null ? 'It' : `Request ${attempt.requestId}`;
  if (attempt.denied) {
    const text = `${request} is denied, or reported as failed without a list: it may have been filed all the same`;
    const asked = attempt.settled;
    return { ...stay('outcome_unknown', gather(f, attempt), text), attention: asked ? askAbout(attempt) : null, asked };
  }
  if (attempt.doneAt !== null && f.rowsWithoutDetails === rows.sent) {
    const attention = overdue
      ? `${request} has certificates whose details fetch-details does not list, or that contradict their rows. See \`ebrc show\`.`
      : null;
    return {
      ...stay('collecting', readDetails(f, attempt.doneAt), 'its certificates are read'),
      attention,
      asked: overdue,
    };
  }
  const undecided = attempt.doneAt !== null || attempt.requestId === null;
  if (undecided || overdue) {
    const asked = attempt.settled && (overdue || attempt.doneAt !== null);
    const state = attempt.doneAt !== null ? 'outcome_unknown' : overdue ? 'overdue' : 'processing';
    const text = `${request} leaves ${counted(rows.sent, 'row')} without an outcome`;
    return { ...stay(state, gather(f, attempt), text), attention: asked || overdue ? askAbout(attempt) : null, asked };
  }
  const until = filing.dueAt ?? f.now + LOOK_AGAIN_MS;
  const followed = stay(
    'processing',
    { do: 'poll', until, summary: `Follow request ${attempt.requestId ?? ''}` },
    `${request} is followed`,
  );
  if (!attempt.unlisted) return followed;
  const attention = `${request} is not known to the service: it, or whoever answered for it, may be wrong. Look at the portal; it is asked for until it counts as denied.`;
  return { ...followed, attention };
}

/** Every row has its outcome: fetch the PDFs, but do not wait for them beyond the overdue time. */
function collect(f: Facts, overdue: boolean): Decided {
  const { pdfs, filing } = f;
  const end = endOf(f.rows);
  if (pdfs.missing === 0 || overdue || end === null) {
    const text = `every row has its outcome${pdfs.missing > 0 ? `; ${counted(pdfs.missing, 'PDF')} are fetched later` : ''}`;
    return atEnd(f, end ?? 'collecting', text);
  }
  const until = filing.dueAt ?? f.now + LOOK_AGAIN_MS;
  const text = `certificates are collected, ${counted(pdfs.missing, 'PDF')} missing`;
  if (pdfs.due.length === 0)
    return stay('collecting', waitUntil(Math.min(until, pdfs.nextAt ?? until), 'Wait for PDFs'), text);
  const certificates = pdfs.due.slice(0, AT_ONCE);
  const summary = `Fetch ${counted(certificates.length, 'PDF')} of ${pdfs.missing} missing`;
  return stay('collecting', { do: 'collect', certificates, until, summary }, text);
}

/** Reads while an outcome is unknown: often in the settle time, at its end, then hourly, and at each decision. */
function gather(f: Facts, attempt: AttemptFacts): Next {
  const { readings, now, decidedAt, settleMs } = f;
  const last = readings.endedAt ?? 0;
  const everyMs = attempt.settled ? Math.min(HOUR_MS, settleMs) : readings.everyMs;
  const after = (at: number | null) => at !== null && at <= now && (readings.wholeAt ?? 0) < at;
  const failing = readings.failures > 0;
  const atOnce = after(attempt.markedAt) || (attempt.settled && after(attempt.settlesAt)) || after(decidedAt);
  const nextAt = atOnce && !failing ? 0 : last + (atOnce ? Math.min(everyMs, backoffMs(readings.failures)) : everyMs);
  if (nextAt <= now) {
    if (readings.underWay) return waitUntil(now + UNDER_WAY_MS, 'Wait for a reading under way');
    return read('both', 1, `Look for evidence of attempt ${attempt.number}`);
  }
  const until = attempt.settled ? nextAt : Math.min(nextAt, Math.max(attempt.settlesAt, now + 1_000));
  if (f.openRequests > 0) return { do: 'poll', until, summary: 'Ask for its request, and look for evidence again' };
  return waitUntil(until, 'Look for evidence again');
}

/** Reads the details of certificates that the record names, soon at first and then less often. */
function readDetails({ readings, now }: Facts, doneAt: number): Next {
  if (readings.underWay) return waitUntil(now + UNDER_WAY_MS, 'Wait for a reading under way');
  const everyMs = Math.min(Math.max((now - doneAt) / 2, MINUTE_MS), HOUR_MS / 2);
  if ((readings.endedAt ?? 0) <= doneAt || (readings.endedAt ?? 0) + everyMs <= now)
    return read('certificates', 1, "Read its certificates' details");
  return waitUntil((readings.endedAt ?? 0) + everyMs, 'Read the details again');
}

/** A pause shows its state until a call succeeds; what may have been sent is said first. */
function paused(f: Facts, decided: Decided): Decided | null {
  const { pause } = f;
  if (!pause || decided.next.do === 'end') return null;
  const next = pause.over || decided.next.do === 'wait' ? decided.next : waitUntil(pause.until, 'Try again');
  if (pause.reason === 'activation' || pause.reason === 'failure') return { ...decided, next };
  const state = pause.reason === 'credentials' ? 'needs_credentials' : 'needs_access';
  const sent = f.attempt ? `It may have been sent (attempt ${f.attempt.number}). ` : '';
  return { next, state, attention: `${sent}${pause.text}`, asked: false, text: pause.text };
}

const backoffMs = (failures: number): number => Math.min(30_000 * 2 ** Math.min(failures, 10), LOOK_AGAIN_MS);

function askAbout({ number, requestId, evidence }: AttemptFacts): string {
  const what = requestId === null ? `attempt ${number} was filed` : `request ${requestId} was filed`;
  const against = evidence.length === 0 ? 'Nothing found speaks against it.' : `Found: ${evidence.join(', ')}.`;
  return `Somebody has to look at the portal to see whether ${what}, and answer with \`ebrc resolve\`. ${against}`;
}

const read = (what: 'both' | 'certificates' | 'irms', priority: 1 | 2, summary: string): Next => ({
  do: 'read',
  what,
  priority,
  summary,
});

const waitUntil = (until: number, summary: string): Next => ({ do: 'wait', until, summary });

const stay = (state: FilingState, next: Next, text: string): Decided => ({
  next,
  state,
  attention: null,
  asked: false,
  text,
});
