/**
 * What is checked, and within which bounds. A run that holds must visit every state; a mutant removes a guard and must
 * be found.
 *
 * Bounds: `executions` of the submit activity over all filings, `attempts` of the filing and of the other filing of its
 * mapping, `operators` (actions of persons: terminate, reset, resume, abandon, resolve), `repeats` (steps of a run that
 * a stale worker does once more at any later time), `restores` (times that the ledger goes back), `permitted`
 * (duplicates).
 */
/** `memoryMb`: what a search may take. One that needs more is incomplete and fails. */
const base = {
  executions: 2,
  attempts: [2, 1],
  operators: 0,
  repeats: 0,
  restores: 0,
  permitted: 0,
  memoryMb: 6_000,
  defines: [],
};

const holds = (name, summary, bounds) => ({ name, summary, expect: 'holds', ...base, ...bounds });

export const RUNS = [
  holds('safety-restore', 'the ledger alone goes back', { operators: 2, restores: 1 }),
  holds('safety-operators', 'operators and late repeats', { operators: 2, repeats: 1 }),
  holds('safety-repeat-restore', 'late repeats over a restore', { repeats: 1, restores: 1 }),
  holds('safety-three', 'three executions over a restore', { executions: 3, restores: 1 }),
  holds('safety-three-operators', 'three executions, a person, and a restore', {
    executions: 3,
    operators: 1,
    restores: 1,
  }),
  holds('safety-duplicate', 'the other filing is permitted beside the first', { operators: 1, permitted: 1 }),
  holds('liveness', 'a filing ends or asks for attention', { attempts: [2, 0], operators: 1, liveness: true }),
  holds('restored-together', 'ledger and documents go back, `--documents restored`', {
    operators: 1,
    restores: 1,
    defines: ['RESTORE_BOTH'],
  }),
  {
    ...holds('restored-together-unsaid', 'ledger and documents go back, and nobody says so', {
      restores: 1,
      defines: ['RESTORE_BOTH', 'NO_DOCUMENTS_RESTORED'],
    }),
    expect: 'breaks',
  },
];

/** All bounds at once, in parts that are exhaustive together: one for each kind of step that is repeated late. */
export const DEEP = ['open-attempt', 'read-attempt', 'not-filed', 'abandon', 'settle'].map((step, at) =>
  holds(`deep-${step}`, `everything at once, the repeated step being ${step}`, {
    operators: 2,
    repeats: 1,
    restores: 1,
    memoryMb: 12_000,
    defines: [`REPEAT_ONLY=${at + 1}`],
  }),
);

const switchOf = (name) => name.toUpperCase().replaceAll('-', '_');
const mutant = (name, guard, bounds = {}, defines = [switchOf(name)]) => ({
  name,
  guard,
  expect: 'breaks',
  ...base,
  ...bounds,
  defines,
});

const person = { operators: 1 };
/** `depthLimit`: searched depth first to this depth, where the shortest counterexample lies behind too many states. */
const restore = (depthLimit, bounds = {}) => ({ restores: 1, depthLimit, ...bounds });

const restoredTogether = (name, guard, bounds = {}) =>
  mutant(name, guard, { restores: 1, ...bounds }, ['RESTORE_BOTH', switchOf(name)]);

/** Guards whose removal alone breaks an invariant. */
const NEEDED = [
  mutant('no-fence', 'The mark requires an open attempt'),
  mutant('unconditional-close', 'Recovery closes an attempt only while it is open'),
  mutant('free-keeps-attempts', 'Whoever frees rows closes their open attempts', person),
  mutant('close-any-sender', 'An activity closes only what it marked itself', person),
  mutant('no-clock-check', 'Nothing is written past the HTTP time-out', person),
  mutant('files-overwritten', 'A send file is created exclusively', { restores: 1 }),
  mutant('no-listing', 'The files are held against the ledger before every send', restore(200, { executions: 3 })),
  mutant('by-number-only', 'They are compared by sender, and not by number alone', restore(200, { executions: 3 })),
  mutant('no-own-mark', 'The sender reads its own mark again after its file is there', restore(370, { executions: 3 })),
  mutant('import-keeps-marks', 'An import lets no earlier mark count', restore(400, { executions: 3 })),
  mutant(
    'close-beside-send',
    'An activity closes its attempt only where no other send of it is known',
    restore(400, { executions: 3 }),
  ),
  mutant(
    'import-closes-earlier',
    'An import closes no attempt that is sending because a later one was sent',
    restore(420, { executions: 3 }),
  ),
  mutant('import-leaves-rows-followed', 'An import holds the rows also while a request of them is followed', {
    operators: 2,
    attempts: [1, 0],
    restores: 1,
  }),
  mutant('acceptance-leaves-rows-freed', 'A late acceptance makes freed rows live again', {
    ...person,
    attempts: [1, 1],
    restores: 1,
  }),
  mutant('errored-frees-all', 'Rows are freed only when no attempt of them may still be a certificate', person),
  mutant('resolve-unnamed', 'resolve names the attempt that it answers', { operators: 1, repeats: 1 }),
  mutant('resolve-names-no-mark', 'resolve names the mark too', {
    attempts: [1, 0],
    operators: 2,
    repeats: 1,
    restores: 1,
  }),
  mutant('resolve-unconditional', 'not-filed changes an attempt only while its outcome is unknown', {
    attempts: [2, 0],
    operators: 2,
    repeats: 1,
  }),
  mutant('wait-for-one', 'A wait since the mark is counted from the newest mark of the attempt', {
    ...restore(420, { executions: 3, attempts: [2, 0], ...person }),
  }),
  mutant('no-settle-window', 'not-filed waits for the settle window', person),
  mutant('no-sweep', 'A sweep follows a filing whose run somebody ended after the send', {
    ...person,
    attempts: [2, 0],
    liveness: true,
    depthLimit: 2000,
  }),
  restoredTogether(
    'no-certificate-wait',
    'After a restore of ledger and documents nothing is sent or taken for not filed before the certificates were read',
  ),
  restoredTogether(
    'no-lost-time-check',
    'After a restore of ledger and documents nothing is sent first while a certificate that no row has agrees with it',
  ),
];

/** Guards that stand behind others: only the removal of all of them breaks an invariant. */
const TOGETHER = [
  mutant(
    'no-other-attempt-guards',
    'The mark looks at the other attempts; a late acceptance closes another open attempt and takes the rows out of planned',
    person,
    ['NO_OTHER_ATTEMPT_CHECK', 'LATE_ANSWER_KEEPS_OTHER', 'ACCEPTANCE_KEEPS_PLANNED'],
  ),
  mutant(
    'no-row-guards',
    'The mark looks at the rows; rows of the same mapping are stopped when another send of it turns up',
    { restores: 1, depthLimit: 300, ...person },
    ['NO_ROW_CHECK', 'SAME_MAPPING_GOES_ON'],
  ),
  mutant('no-looks', 'not-filed looks at the service a last time; the mark looks again', person, [
    'NO_LAST_LOOK',
    'NO_LOOK_AT_MARK',
  ]),
  mutant('no-void-guards', 'A missing file is made void; the sender reads its own mark again', {}, [
    'NO_VOID',
    'NO_OWN_MARK',
  ]),
  mutant('no-fingerprint-guards', 'A live fingerprint refuses another filing; the mark looks again', {}, [
    'NO_UNIQUE_INDEX',
    'NO_COLLISION_CHECK',
  ]),
];

export const MUTANTS = [...NEEDED, ...TOGETHER];

const questioned = (name, guard, bounds = {}) => ({ ...mutant(name, guard, bounds), expect: 'holds' });

/**
 * Guards whose removal alone breaks nothing within these bounds: docs/decisions/0011-protocol-model.md says why they
 * stay.
 */
export const QUESTIONED = [
  {
    ...restoredTogether(
      'no-lost-time-look',
      'After a restore of ledger and documents not-filed is refused while such a certificate agrees',
      { ...person, depthLimit: 450 },
    ),
    expect: 'holds',
  },
  questioned('no-row-check', 'The mark requires rows that are live and planned, of a filing that has not ended', {
    ...person,
    restores: 1,
  }),
  questioned(
    'give-up-sent',
    'An attempt whose number is another’s send is closed only where no other send of it is known',
    {
      executions: 3,
      restores: 1,
    },
  ),
  questioned('no-collision-check', 'Nothing is sent while another live row holds the fingerprint', { restores: 1 }),
  questioned('no-last-look', 'not-filed looks at the service a last time', person),
  questioned('refused-frees-all', 'A refusal frees no rows of which an earlier attempt was judged absent', person),
  questioned('no-look-at-mark', 'After an absence the mark looks for certificates that agree', person),
  questioned('refusal-by-own-mark', 'The run judges an attempt by a refusal only where its own execution marked it', {
    ...person,
    restores: 1,
  }),
  questioned('no-other-attempt-check', 'The mark looks at the other attempts', person),
  questioned('late-answer-keeps-other', 'A late acceptance closes another open attempt', person),
  questioned('no-late-wait', 'Recovery waits until the sender is past the HTTP time-out', person),
  questioned('no-void', 'A missing file is made void before the attempt counts as not sent', person),
  questioned('no-unique-index', 'A live fingerprint refuses another filing', person),
  questioned(
    'same-mapping-goes-on',
    'Rows of the same mapping that are not sent yet are stopped by a late acceptance or an import',
    {
      ...person,
      restores: 1,
    },
  ),
  questioned('import-leaves-gaps', 'An import gives up the numbers that have no file', { executions: 3, restores: 1 }),
  questioned('judge-without-listing', 'The files are held against the ledger before a judgement too', { restores: 1 }),
];
