/** Drives a walk of the model of the gates (model/gates.pml) step by step through the ledger's functions. */
import { filingDateInKolkata } from '../../src/domain/dates';
import { attemptIdOf } from '../../src/domain/filing/attempt';
import { saveSnapshot } from '../../src/ledger/certificates/snapshots';
import { lockFiling } from '../../src/ledger/filings/filing-lock';
import { certifyByRecord } from '../../src/ledger/gates/certify';
import { carryOutWord } from '../../src/ledger/gates/persons';
import { judgeRefused, judgeUnsent, releaseRejected, releaseUnfiled } from '../../src/ledger/gates/release';
import { releaseAbsent } from '../../src/ledger/gates/release-absent';
import { markSending } from '../../src/ledger/gates/send';
import { withTransaction } from '../../src/ledger/pool';
import { moveRows } from '../../src/ledger/rows/filing-rows';
import { storeAnswer } from '../../src/ledger/submissions/answers';
import { recordLook } from '../../src/ledger/submissions/lost-time';
import { endRequest, notePoll, type Statement } from '../../src/ledger/submissions/requests';
import { recordWord, type NewWord } from '../../src/ledger/submissions/words';
import { EXPORTER, minutesLater, open, rowsOf } from '../ledger/filing-support';
import type { TestDatabase } from '../support/postgres';
import { openAttempt } from '../ledger/ledger-steps';

export interface Walk {
  name: string;
  /** No look is possible. */
  away: boolean;
  steps: [actor: string, action: string, state: string][];
}

export interface Driven {
  followed: number;
  /** The first step that led elsewhere than in the model; null: none did. */
  stopped: { step: string; model: string; code: string } | null;
}

const ROWS = ['none', 'planned', 'submitted', 'certified', 'abandoned_after_send', 'free', 'free'];
const VERDICTS = ['none', 'open', 'marked', 'accepted', 'refused', 'unsent', 'rejected', 'absent'];
const REQUESTS = ['none', 'followed', 'ended', 'absent', 'ended', 'not_ours'];
const WINDOW = 240;
const SETTLE_MS = WINDOW * 60_000;
const STRANGER = 4;

interface Model {
  rows: string[];
  verdicts: string[];
  requests: string[];
  /** The request that a person named. */
  named: string;
}

function decode(digits: string): Model {
  const numbers = [...digits].map((digit) => parseInt(digit, 36));
  const named = (from: number, to: number, names: string[]) => numbers.slice(from, to).map((n) => names[n] ?? '?');
  return {
    rows: named(0, 2, ROWS),
    verdicts: named(2, 5, VERDICTS),
    requests: named(6, 9, REQUESTS),
    named: REQUESTS[numbers[10] ?? 0] ?? '?',
  };
}

const textOf = ({ rows, verdicts, requests, named }: Model) => [...rows, ...verdicts, ...requests, named].join('/');
const NOTHING = decode('10000000000000');

/** Two live filings of one lineage: their windows pass at different times in the model, at one in the driver. */
const bothLive = ({ rows }: Model) => rows.every((row) => row !== 'none' && row !== 'free');

let drives = 0;

/** @returns how far the code followed the walk */
export async function drive(ledger: TestDatabase, { away: awayAtFirst, steps }: Walk): Promise<Driven> {
  drives += 1;
  let away = awayAtFirst;
  const { pool } = ledger;
  const reference = `GATES-${drives}`;
  const rows = () => rowsOf({ sbCumInvoiceNumber: String(5_000_000 + drives), mappedIRMAmountFCC: 1 });
  const filings: string[] = [await open(ledger, reference, rows())];
  let minute = drives * 1_000_000;
  let begun: { minute: number; shown: string[] } | null = null;
  const shown = new Set<string>();
  let words = 0;

  const now = () => minutesLater(minute);
  const filingOf = (a: number) => filings[Math.floor(a / 2)] ?? '';
  const attemptId = (a: number) => attemptIdOf(filingOf(a), 1, (a % 2) + 1);
  const requestId = (a: number) => `GATES-${drives}-R${a}`;
  const certificate = (a: number) => `GATES${drives}C${a}`;
  const NAMED = `GATES-${drives}-NAMED`;
  const request = (a: number, id = requestId(a)) => ({ filingId: filingOf(a), submission: 1, requestId: id });
  const inTurn = <T>(a: number, work: Parameters<typeof withTransaction<T>>[1]) =>
    withTransaction(pool, async (client) => {
      await lockFiling(client, filingOf(a));
      return work(client);
    });
  const end =
    (a: number, errored: { position: number; errors: string[] }[], id = requestId(a)) =>
    (client: Parameters<Parameters<typeof withTransaction>[1]>[0]) =>
      endRequest(client, request(a, id), { state: 'ended', processingStatus: 'x', errored, at: now() });

  /** What its run, or the authority's answer, does to a filing that is over. */
  const endFilings = () =>
    pool.query(
      `UPDATE filings f SET closed_at = $2, state = CASE WHEN r.state = 'certified' THEN 'certified' ELSE 'needs_correction' END
         FROM filing_rows r WHERE r.filing_id = f.filing_id AND f.filing_id = ANY($1) AND f.closed_at IS NULL
          AND (NOT r.live OR r.state = 'certified')`,
      [filings, now()],
    );

  /** A word about a filing: by the model, a person names every certificate that the portal shows. */
  async function word(person: number, a: number, more: Partial<NewWord>): Promise<string> {
    words += 1;
    const wordId = await recordWord(pool, {
      filingId: filingOf(a),
      kind: 'not_filed',
      attemptId: null,
      requestId: null,
      sourceRows: null,
      certificates: [],
      notOurs: [...shown],
      unseen: away,
      by: `person-${person}`,
      note: 'looked',
      at: now(),
      step: `word-${words}`,
      ...more,
    });
    const carried = await inTurn(a, (client) =>
      carryOutWord(client, { filingId: filingOf(a), wordId, settleMs: SETTLE_MS, singlePerson: false, at: now() }),
    );
    return carried.outcome;
  }

  let ofNamed = false;
  let denied = false;
  const about = (a: number, { verdicts }: Model) => {
    if (ofNamed) return { requestId: NAMED };
    return verdicts[a] === 'marked' ? { attemptId: attemptId(a) } : { requestId: requestId(a) };
  };

  /** The authority has used what it certified. */
  const readBalances = (at: Date) =>
    pool.query(
      `UPDATE irms SET read_at = greatest(read_at, $2), available = amount - (SELECT count(*) FROM filing_rows WHERE state = 'certified')
        WHERE exporter_id = $1`,
      [EXPORTER, at],
    );

  async function look(complete: boolean): Promise<void> {
    if (!begun) return;
    const at = begun.minute;
    await readBalances(minutesLater(at));
    if (complete) {
      await pool.query(
        `INSERT INTO certificates (party_id, exporter_id, ebrc_number, document_key, document_no, detail, first_seen_at)
         SELECT r.party_id, r.exporter_id, number, r.document_key, r.mapping->>'sbCumInvoiceNumber', '{}', $3
           FROM filing_rows r, unnest($2::text[]) AS number WHERE r.filing_id = $1
         ON CONFLICT (party_id, ebrc_number) DO UPDATE SET document_key = excluded.document_key, document_no = excluded.document_no`,
        [filings[0], begun.shown, now()],
      );
    }
    const days = { from: '01012026', to: filingDateInKolkata(minutesLater(at).getTime()) };
    const problem = complete ? null : 'cut off';
    await recordLook(pool, { exporterId: EXPORTER, beganAt: minutesLater(at), endedAt: now(), ...days, problem });
    begun = null;
  }

  const openFiling = async () => {
    await endFilings();
    const { rows: found } = await pool.query<{ state: string }>('SELECT state FROM filing_rows WHERE filing_id = $1', [
      filings[0],
    ]);
    const corrects = found[0]?.state === 'needs_correction' ? (filings[0] ?? null) : null;
    filings.push(await open(ledger, reference, rows(), { n: 2, corrects }));
  };

  const abandon = () =>
    inTurn(0, async (client) => {
      const filingId = filingOf(0);
      await releaseUnfiled(client, { filingId, submission: null, state: 'withdrawn', reason: 'given up', at: now() });
      await moveRows(client, { filingId, submission: null, state: 'abandoned_after_send' });
      await client.query(`UPDATE filings SET state = 'abandoned', closed_at = $2 WHERE filing_id = $1`, [
        filingId,
        now(),
      ]);
    });

  const refuse = (a: number, after: Model) =>
    inTurn(a, async (client) => {
      const answer = { kind: 'validation', status: 400 };
      await judgeRefused(client, {
        attemptId: attemptId(a),
        sender: `sender-${a}`,
        reason: 'validation',
        answer,
        at: now(),
      });
      if (after.rows[Math.floor(a / 2)] === 'planned') return;
      const released = {
        filingId: filingOf(a),
        submission: 1,
        state: 'needs_correction' as const,
        reason: 'refused',
        at: now(),
      };
      await releaseUnfiled(client, released);
    });

  /** By the named request, where the attempt's own one is not followed. */
  const record = (a: number, { requests }: Model) =>
    inTurn(a, async (client) => {
      const id = requests[a] === 'followed' ? requestId(a) : NAMED;
      const records = [{ position: 0, eBRCNumber: certificate(a), eBRCDate: null }];
      await certifyByRecord(client, { filingId: filingOf(a), submission: 1, exporterId: EXPORTER, records, at: now() });
      await end(a, [], id)(client);
    });

  /** The model's actions by their text, and what the code does there. @returns what it refuses, where it does */
  type Take = (n: number[], before: Model, after: Model) => unknown;
  /** What a word that the model has carried out in one of these ways came to. */
  const said =
    (expected: readonly string[], more: (a: number, before: Model) => Partial<NewWord>): Take =>
    async ([person = 0, a = 0], before) => {
      const outcome = await word(person, a, more(a, before));
      return expected.includes(outcome) ? undefined : `a word was ${outcome}`;
    };
  const notOurs = (a: number, before: Model) => ({ ...about(a, before), notOurs: [...shown, NAMED] });
  /** At the send gate a word is about a filing, which the model numbers. */
  const atGate =
    (expected: readonly string[], more: Partial<NewWord> = {}): Take =>
    ([person = 0, filing = 0], ...rest) =>
      said(expected, () => more)([person, 2 * filing], ...rest);
  const state = (a: number, statement: Statement | null, id = requestId(a)) =>
    inTurn(a, (client) => notePoll(client, request(a, id), { statement, ageMs: 1, at: now() }));
  /** The service's own statement of a request is concluded from. */
  const conclude = async (a: number, id = requestId(a)) => {
    const args = { subject: request(a, id), settleMs: SETTLE_MS, unseen: false, notOurs: [], reason: 'x', at: now() };
    const absence = await inTurn(a, (client) => releaseAbsent(client, args));
    return absence.outcome === 'refused' ? absence.why : undefined;
  };
  const actions: [RegExp, Take][] = [
    [/open filing 1, which/, openFiling],
    [
      /check the balances/,
      () =>
        pool.query(`UPDATE filing_rows SET checked = true WHERE filing_id = ANY($1) AND live AND state = 'planned'`, [
          filings,
        ]),
    ],
    [
      /open attempt (\d)/,
      async ([a = 0]) => {
        await readBalances(now());
        return inTurn(a, async (client) => {
          const of = { filingId: filingOf(a), submission: 1 };
          // The list of certificates is not what the model is about: their balances are known.
          await saveSnapshot(client, { ...of, exporterId: EXPORTER, certificates: null, at: now() });
          return openAttempt(client, { ...of, at: now() });
        });
      },
    ],
    [
      /mark attempt (\d)/,
      async ([a = 0]) => {
        const args = {
          attemptId: attemptId(a),
          sender: `sender-${a}`,
          payloadHash: 'x',
          settleMs: SETTLE_MS,
          timeoutMs: 1,
          at: now(),
        };
        const mark = await withTransaction(pool, (client) => markSending(client, args));
        return mark.marked ? undefined : mark.reason;
      },
    ],
    [
      /nothing of attempt (\d) was written/,
      ([a = 0]) =>
        inTurn(a, (client) =>
          judgeUnsent(client, { attemptId: attemptId(a), proof: { sender: `sender-${a}` }, reason: 'x', at: now() }),
        ),
    ],
    [/refuse attempt (\d)/, ([a = 0], _, after) => refuse(a, after)],
    [
      /store the acceptance of attempt (\d)/,
      ([a = 0]) =>
        inTurn(a, (client) =>
          storeAnswer(client, {
            attemptId: attemptId(a),
            answer: { kind: 'accepted', status: 200, requestId: requestId(a) },
            at: now(),
          }),
        ),
    ],
    [/does not know the request of attempt (\d)/, ([a = 0]) => state(a, 'unknown_request')],
    [/processes the request of attempt (\d)/, ([a = 0]) => state(a, null)],
    [/show certificate (\d)/, ([a = 0]) => shown.add(certificate(a))],
    [/show another certificate/, () => shown.add(certificate(STRANGER))],
    [/certify by the record of attempt (\d)|the record names/, ([a = 0], before) => record(a, before)],
    [
      /the request of attempt (\d) is Errored/,
      ([a = 0]) =>
        inTurn(a, async (client) => {
          await end(a, [{ position: 0, errors: ['no'] }])(client);
          await releaseRejected(client, { filingId: filingOf(a), submission: 1, at: now() });
        }),
    ],
    [/conclude that the request of attempt (\d) is absent/, ([a = 0]) => conclude(a)],
    [/conclude that the named request is absent/, () => conclude(0, NAMED)],
    [/person (\d): attempt (\d) .*request is not ours: refused/, said(['refused'], notOurs)],
    [/person (\d): attempt (\d) .*request is not ours: stands/, said(['stands'], notOurs)],
    [/person (\d): attempt (\d) .*request is not ours: closed/, said(['not_ours', 'again', 'freed'], notOurs)],
    [/person (\d): attempt (\d) was not filed.*: refused/, said(['refused'], about)],
    [/person (\d): attempt (\d) was not filed.*: stands/, said(['stands'], about)],
    [/person (\d): attempt (\d) was not filed/, said(['again', 'freed'], about)],
    [/person (\d): filing (\d) at the gate: refused/, atGate(['refused'], { unseen: true })],
    [/person (\d): filing (\d) at the gate: stands/, atGate(['stands'])],
    [/person (\d): filing (\d) at the gate: carried out/, atGate(['again'])],
    [
      /person (\d): names a request of attempt (\d)/,
      said(['filed'], (a) => ({
        kind: 'filed',
        attemptId: attemptId(a),
        requestId: NAMED,
        notOurs: [],
        unseen: false,
      })),
    ],
    [/says that nothing of the named request was filed/, () => state(0, 'errored', NAMED)],
    [/no look is possible/, () => ((minute += 2 * WINDOW), (away = true))],
    [/begin to look/, () => (begun = { minute, shown: [...shown] })],
    [/a look that is not complete/, () => look(false)],
    [/a complete look/, () => look(true)],
    [/the window of filing \d is over|was denied for a window/, () => (minute += 2 * WINDOW)],
    [/abandon filing 0/, abandon],
    [/^service: (?:take|attempt)|issue certificate|the answer of attempt/, () => undefined],
  ];

  let before = NOTHING;
  for (const [at, [actor, action, digits]] of steps.entries()) {
    // A remark on the step that follows.
    if (action.endsWith('speaks of the named request')) ofNamed = true;
    if (digits === '') continue;
    const after = decode(digits);
    // What the driver does not set up: a sibling's record, an older certificate, and a window that a poll restarts.
    // Nor a look in the window that a denied request waits for: by it the send gate knows that looks are possible.
    denied ||= action.endsWith('was denied for a window');
    const unseen = denied && action.endsWith('at the gate: refused, no look');
    if (bothLive(after) || unseen || /kind [13]|sibling|processes the/.test(action))
      return { followed: at, stopped: null };
    minute += 1;
    const step = `${actor}: ${action}`;
    const found = actions.map(([pattern, take]) => ({ take, match: pattern.exec(step) })).find(({ match }) => match);
    if (!found?.match) throw new Error(`The driver does not know the model's step "${step}".`);
    const refused = await found.take(found.match.slice(1).map(Number), before, after);
    ofNamed = false;
    await endFilings();
    const code = typeof refused === 'string' && step.match(/mark|conclude|person/) ? refused : await textOfLedger();
    if (code !== textOf(after)) return { followed: at, stopped: { step, model: textOf(after), code } };
    before = after;
  }
  return { followed: steps.length, stopped: null };

  async function textOfLedger(): Promise<string> {
    const { rows: found } = await pool.query<{
      n: number;
      row: string;
      attempts: Record<string, string>;
      requests: Record<string, string>;
    }>(
      `SELECT f.n, CASE WHEN NOT r.live THEN 'free' WHEN r.state = 'unknown' THEN 'submitted' ELSE r.state END AS row,
         (SELECT coalesce(jsonb_object_agg(a.number, a.verdict), '{}') FROM attempts a WHERE a.filing_id = f.filing_id) AS attempts,
         (SELECT coalesce(jsonb_object_agg(q.request_id, q.state), '{}') FROM requests q WHERE q.filing_id = f.filing_id) AS requests
         FROM filings f JOIN filing_rows r USING (filing_id) WHERE f.filing_id = ANY($1) ORDER BY f.n`,
      [filings],
    );
    const of = (a: number) => found[Math.floor(a / 2)];
    const each = [0, 1, 2];
    return [
      found[0]?.row ?? 'none',
      found[1]?.row ?? 'none',
      ...each.map((a) => of(a)?.attempts[(a % 2) + 1] ?? 'none'),
      ...each.map((a) => of(a)?.requests[requestId(a)] ?? 'none'),
      found[0]?.requests[NAMED] ?? 'none',
    ].join('/');
  }
}
