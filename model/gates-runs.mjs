/**
 * What is checked of the gates (gates.pml), and within which bounds: attempts of the filing and of what takes its rows
 * over, `lies` (words of one person that are wrong), `slow` (certificates that show after the window), `hidden` (that no look
 * shows), and which kinds of trouble there are. A run that holds must visit every state; a mutant removes a guard and
 * must be found.
 */
const base = {
  model: 'gates.pml',
  attempts: [2, 1],
  lies: 1,
  slow: 1,
  hidden: 0,
  strangers: 0,
  away: 0,
  changed: 0,
  named: 0,
  statements: 0,
  uses: 0,
  gives: 0,
  short_windows: 0,
  abandons: 0,
  memoryMb: 6_000,
};

/** The model's switches for a run of the gates. */
export const definesOfGates = ({ attempts, defines, ...run }) => [
  `-DATTEMPTS0=${attempts[0]}`,
  `-DATTEMPTS1=${attempts[1]}`,
  ...[
    'lies',
    'slow',
    'hidden',
    'strangers',
    'away',
    'changed',
    'named',
    'statements',
    'uses',
    'gives',
    'short_windows',
    'abandons',
  ].map((name) => `-D${name.toUpperCase()}=${run[name]}`),
  ...defines.map((name) => `-D${name}`),
];

/** The kinds of trouble of a run, in words. */
export const boundsOfGates = ({ attempts, ...run }) =>
  [
    `${attempts.join('+')} attempts`,
    ...Object.entries({
      lies: 'a wrong person',
      slow: 'a late certificate',
      hidden: 'a certificate that no look shows',
      strangers: 'a stranger’s certificate',
      away: run.away > 1 ? 'looks impossible from some time on' : 'looks impossible',
      changed: 'another document',
      named: run.named > 1 ? 'two named requests' : 'a named request',
      statements: 'statements of the service',
      uses: 'balances used elsewhere',
      gives: 'what is given back to an IRM',
      short_windows: 'short windows',
      abandons: 'abandoned',
    }).flatMap(([name, text]) => (run[name] > 0 ? [text] : [])),
  ].join(', ');

const holds = (name, summary, bounds) => ({ name, summary, expect: 'holds', ...base, defines: [], ...bounds });

export const GATE_RUNS = [
  holds('gates', 'a person, a late certificate, a correction', {}),
  holds('gates-strangers', 'certificates of the same document that are not the row’s', {
    strangers: 1,
    attempts: [1, 1],
    slow: 0,
  }),
  holds('gates-document', 'a correction with another document', { changed: 1, abandons: 1, attempts: [1, 1] }),
  holds('gates-away', 'no look is possible', { away: 1, attempts: [2, 1] }),
  holds('gates-statements', 'the service does not know requests', { statements: 1, attempts: [1, 1] }),
  holds('gates-statements-away', 'the same where no look is possible', {
    statements: 1,
    away: 1,
    slow: 0,
    attempts: [1, 1],
  }),
  holds('gates-named', 'a person names a request', { named: 1, attempts: [1, 1], abandons: 1 }),
  holds('gates-two-requests', 'two requests of a submission', {
    attempts: [2, 0],
    named: 1,
    statements: 1,
    lies: 1,
    slow: 0,
  }),
  holds('gates-not-ours', 'a named request that is not ours, and another one named after it', {
    attempts: [2, 0],
    named: 2,
    strangers: 0,
    slow: 1,
  }),
  holds('gates-away-later', 'no look is possible from some time on', {
    away: 2,
    attempts: [2, 0],
    strangers: 1,
    slow: 1,
  }),
  holds('gates-windows', 'processes with different windows, balances used elsewhere', {
    short_windows: 1,
    uses: 1,
    attempts: [2, 0],
    statements: 1,
  }),
  holds('gates-abandoned', 'a filing that was given up, and one beside it', {
    abandons: 1,
    attempts: [1, 1],
    strangers: 1,
    slow: 0,
    lies: 0,
  }),
  holds('gates-hidden', 'a certificate that no look shows, and balances', {
    hidden: 1,
    uses: 1,
    gives: 1,
    slow: 0,
    attempts: [2, 0],
  }),
  holds('gates-hidden-statements', 'the same where the service does not know requests', {
    hidden: 1,
    statements: 1,
    slow: 0,
    attempts: [1, 1],
  }),
  holds('gates-hidden-named', 'the same where a person names one', {
    hidden: 1,
    statements: 1,
    named: 1,
    slow: 0,
    attempts: [1, 0],
  }),
  holds('gates-hidden-document', 'the same, and a correction with another document or IRM', {
    hidden: 1,
    uses: 1,
    changed: 1,
    slow: 0,
    attempts: [1, 1],
  }),
  holds('gates-named-other', 'a person names another filing’s request of the IRM and document', {
    named: 1,
    strangers: 2,
    attempts: [2, 0],
    slow: 0,
  }),
  holds('gates-document-strangers', 'a filing with another document beside one in doubt, and strangers', {
    changed: 1,
    strangers: 1,
    attempts: [1, 1],
    slow: 0,
  }),
  holds('gates-again', 'a correction that is sent twice', { attempts: [1, 2], changed: 1, lies: 0 }),
];

const switchOf = (name) => name.toUpperCase().replaceAll('-', '_');
const mutant = (name, guard, bounds = {}, defines = [switchOf(name)]) => ({
  name: `gates-${name}`,
  guard,
  expect: 'breaks',
  ...base,
  attempts: [1, 1],
  slow: 0,
  lies: 0,
  ...bounds,
  defines,
});
const late = { slow: 1, attempts: [2, 0] };
/** A filing that was given up, of which a person says that it was not filed, can be taken over. */
const lateTakenOver = { slow: 1, abandons: 1 };
const wrong = { lies: 1 };
const stranger = { strangers: 1 };

const again = { attempts: [2, 0] };
const SEND = [
  mutant('no-balances', 'Send: the balances were checked', { ...again, uses: 1 }),
  mutant('balances-once', 'Send: the balances were checked since the last attempt', { ...again, uses: 1 }),
  mutant('no-look-at-mark', 'Send: after an absence it looks at the certificates', late),
  mutant('old-look-at-mark', 'Send: the look began after the release', late),
  mutant('own-document', 'Send: certificates and releases of every document of the lineage count', {
    ...lateTakenOver,
    changed: 1,
  }),
];

const RELEASE = [
  mutant('absent-at-once', 'Release: only an attempt in doubt, or a request that the service denies, can be absent', {
    ...again,
    statements: 1,
  }),
  mutant('unfinished-is-freed', 'Release: no other request of the submission is being asked about', {
    ...late,
    named: 1,
  }),
  mutant('no-window', 'Release: the settle window is over', again),
  mutant('own-window', 'Release: the longer of the sender’s and the judge’s window counts', {
    ...again,
    short_windows: 1,
  }),
  mutant('no-statement-restart', 'Release: the window begins again with a statement of the service', {
    statements: 1,
  }),
  mutant('incomplete-look-counts', 'Release, and send: a look is complete; `null` or words prove no absence', {
    ...again,
    ...wrong,
  }),
  mutant('one-person', 'Release: where a certificate agrees, two persons name it', { ...again, ...wrong }),
  mutant('same-person-twice', 'Release: the two are two persons', { ...again, ...wrong, away: 1 }),
  mutant('any-subject', 'Release: both say it of the same send', { ...wrong, away: 1, attempts: [1, 2] }),
  mutant('either-names', 'Release: only numbers that both named count', { ...late, ...wrong, ...stranger }),
  mutant('use-not-asked', 'Release: where an IRM was used and no certificate explains it, two persons say so', {
    ...again,
    ...wrong,
    hidden: 1,
  }),
  mutant('unmeasured-counts', 'Release: so they do where the balance is not known from before the send', {
    ...again,
    ...wrong,
    hidden: 1,
  }),
  mutant('old-reading-counts', 'Release: so they do where it was not read since the window', {
    ...again,
    ...wrong,
    hidden: 1,
  }),
  mutant('given-back-counts-not', 'Release: so they do where something was given back since the send', {
    ...again,
    ...wrong,
    hidden: 1,
    gives: 1,
  }),
  mutant('little-left-is-anothers', 'Release: so they do where too little is left: a correction may take another IRM', {
    ...wrong,
    hidden: 1,
    uses: 1,
    changed: 1,
    depthLimit: 300,
  }),
  mutant('look-from-before-denial', 'Release: look and balance are from after a named request was denied', {
    ...again,
    ...wrong,
    hidden: 1,
    named: 1,
    statements: 1,
    depthLimit: 300,
  }),
  mutant('odd-answer-refuses', 'Release: only what is said of the submission refuses it', again),
  mutant('early-word-stands', 'Release: a word that came too early counts for nothing', {
    ...again,
    ...wrong,
    away: 1,
  }),
  mutant('rejected-beside-request', 'Release: rows are rejected once every request has ended', { attempts: [2, 1] }),
  mutant('rejected-beside-doubt', 'Release: rows are rejected while no attempt is in doubt', { attempts: [2, 1] }),
  mutant('accepted-stays-free', 'Release: a late acceptance holds the rows again', { ...late, abandons: 1 }),
  mutant('one-permits', 'A second one beside a row in doubt needs two persons', wrong),
];

const namedByOne = { ...wrong, attempts: [1, 0] };
const ANSWERS = [
  mutant('not-ours-by-one', 'Named request: two persons say that it is not ours', { ...namedByOne, named: 1 }),
  mutant('not-ours-early', 'Named request: they say so when the window is over', { attempts: [1, 0], named: 1 }),
  mutant('named-stays-free', 'Named request: it holds the rows of an attempt that was judged absent', {
    slow: 1,
    abandons: 1,
    named: 1,
  }),
  mutant('not-ours-of-another', 'Named request: both name the same one', { ...namedByOne, named: 2 }),
  mutant('named-without-details', 'Named request: it certifies once the certificate’s details are the row’s', {
    ...namedByOne,
    strangers: 2,
    named: 1,
  }),
  mutant('denied-is-followed', 'Named request: one that the service denies ends with the attempt it was named for', {
    attempts: [1, 0],
    named: 1,
  }),
  mutant('closed-certifies', 'Named request: closed while the service was asked, it certifies nothing', {
    ...namedByOne,
    strangers: 2,
    named: 1,
  }),
  mutant('send-by-one', 'Send: where a certificate agrees, two persons name it', { ...late, ...wrong }),
  mutant('unseen-anyway', 'Send: words stand for a look only where none is possible', late),
];

const CERTIFY = [
  mutant('record-believed', 'Certify: a number from before the first mark is a question', stranger),
  mutant('others-do-not-compete', 'Certify: as many certificates as rows that they fit', stranger),
  mutant('cancelled-certifies', 'Certify: its status is Issued', stranger),
  mutant('old-certifies', 'Certify: it is not from before the first mark', stranger),
  mutant('said-not-ours-counts-not', 'Certify: what two persons said is another’s is not adopted by details', {
    ...again,
    ...stranger,
  }),
  mutant('without-list', 'Certify: nothing by details without a list from before the first mark', stranger),
  mutant('one-use-for-two', 'Certify: another send on the IRM counts in its window, and where a certificate fits it', {
    ...wrong,
    ...stranger,
    changed: 1,
  }),
  mutant('balance-not-asked', 'Certify: the balance bears it out', stranger),
];

/** The look of the release, and the one at the next mark, stand behind each other. */
const unlooked = (name, guard) => mutant(name, guard, { ...again, ...wrong }, [switchOf(name), 'NO_LOOK_AT_MARK']);

const TOGETHER = [
  mutant(
    'older-list',
    'Send: only what was shown before the lineage’s first mark counts as older; an attempt is opened after a look',
    lateTakenOver,
    ['OWN_LIST', 'OPENS_WITHOUT_LOOK'],
  ),
  unlooked('no-look', 'Release: a complete look backs it; and the look at the mark'),
  unlooked('look-by-its-end', 'Release: the look began after the window; and the look at the mark'),
  unlooked('agreeing-is-freed', 'Release: no certificate agrees; and the look at the mark'),
  mutant('words-cover-later', 'Send: only certificates that both named count; they name them after a look', late, [
    'WORDS_COVER_LATER',
    'WORDS_BEFORE_LOOK',
  ]),
  mutant('words-are-a-look', 'Send: a look follows what was named; persons name it after a look too', late, [
    'WORDS_ARE_A_LOOK',
    'WORDS_BEFORE_LOOK',
  ]),
  mutant(
    'no-lineage',
    'What was sent after all stops unsent rows of its lineage; the mark looks for live rows of it',
    { ...lateTakenOver },
    ['STOPPED_GOES_ON', 'PREDECESSOR_MAY_LIVE', 'NO_LOOK_AT_MARK'],
  ),
  mutant(
    'replayed-first-task',
    'A reference is filed once; a live row holds the mappings of its lineage, and the mark looks again',
    { attempts: [2, 1] },
    ['REPLAYED_FILES_AGAIN', 'LINEAGE_NOT_HELD', 'PREDECESSOR_MAY_LIVE'],
  ),
];

export const GATE_MUTANTS = [...SEND, ...RELEASE, ...ANSWERS, ...CERTIFY, ...TOGETHER];

const questioned = (name, guard, bounds = {}) => ({ ...mutant(name, guard, bounds), expect: 'holds' });

/** Guards whose removal alone breaks nothing within these bounds: docs/decisions/0011-protocol-model.md says why they stay. */
export const GATE_QUESTIONED = [
  questioned(
    'no-other-attempt-check',
    'Send: every other attempt of the submission is unsent, refused or absent',
    again,
  ),
  questioned('own-list', 'Send: only what was shown before the lineage’s first mark counts as older', lateTakenOver),
  questioned('opens-without-look', 'Send: an attempt is opened after a look', lateTakenOver),
  questioned('predecessor-may-live', 'Send: no other row of the lineage is live', {
    slow: 1,
    lies: 1,
    abandons: 1,
  }),
  questioned(
    'held-by-details-counts',
    'Release: only what another row has by its own request’s record is not in question',
    {
      ...again,
      ...stranger,
    },
  ),
  questioned('no-look', 'Release: a complete look backs it', { ...again, ...wrong }),
  questioned('named-rejects', 'Release: Errored of a request that a person named frees nothing', {
    ...wrong,
    named: 1,
  }),
  questioned('words-cover-later', 'Send: only certificates that both named count, not what comes later', late),
  questioned('words-are-a-look', 'Send: a look follows what two persons named', late),
  questioned('words-before-look', 'Send: they name it after a look', late),
  questioned('refused-frees-all', 'Release: a refusal frees nothing beside an absent attempt', late),
  questioned('corrected-stays-free', 'Certify: a record holds a row again that a correction took over', {
    slow: 1,
    statements: 1,
  }),
];

/** The shortest ways to what a random walk hardly ever meets, for test/conformance. */
const goal = (name, summary, bounds) => ({
  ...mutant(name, summary, { lies: 1, ...bounds }, [`GOAL_${switchOf(name)}`, 'NO_LISTS=true']),
  name: summary,
});
export const GATE_GOALS = [
  goal('closed', 'a named request is closed, and the attempt is absent', { named: 1, attempts: [1, 0] }),
  goal('closed-alone', 'a named request is closed, and the attempt stays in doubt', { named: 1, attempts: [1, 0] }),
  goal('rejected', 'a named request is closed, and the rows are rejected', { named: 1, attempts: [1, 0] }),
  goal('too-early', 'a named request is closed, after a word that came too early', { named: 1, attempts: [1, 0] }),
  goal('named-after', 'a request is named for an attempt that was judged absent', { named: 1, attempts: [2, 0] }),
  goal('named-at-gate', 'a certificate is named at the send gate', { strangers: 1, attempts: [2, 0] }),
];
