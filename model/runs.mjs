/**
 * What is checked, and within which bounds. A run that holds must visit every state; a mutant removes one guard and must
 * be found.
 *
 * Bounds: `executions` of the submit activity over all filings, `attempts` of the filing and of the other filing of its
 * mapping, `operators` (actions of persons: terminate, reset, resume, abandon, resolve), `repeats` (steps of a run that a
 * stale worker does once more at any later time), `restores` (times that the ledger goes back).
 */
const base = { executions: 2, attempts: [2, 1], operators: 0, repeats: 0, restores: 0, defines: [] };

export const RUNS = [
  {
    name: 'safety',
    expect: 'holds',
    ...base,
    operators: 2,
    repeats: 1,
    summary: 'operators, late repeats, another filing',
  },
  {
    name: 'safety-restore',
    expect: 'holds',
    ...base,
    operators: 2,
    restores: 1,
    summary: 'the ledger alone goes back',
  },
  {
    name: 'safety-repeat-restore',
    expect: 'holds',
    ...base,
    repeats: 1,
    restores: 1,
    operators: 1,
    summary: 'late repeats over a restore',
  },
  {
    name: 'safety-three',
    expect: 'holds',
    ...base,
    executions: 3,
    restores: 1,
    summary: 'three executions over a restore',
  },
  {
    name: 'liveness',
    expect: 'holds',
    ...base,
    attempts: [2, 0],
    operators: 1,
    liveness: true,
    summary: 'a filing ends or asks for attention',
  },
  {
    name: 'restored-together',
    expect: 'holds',
    ...base,
    operators: 1,
    restores: 1,
    defines: ['RESTORE_BOTH'],
    summary: 'ledger and documents go back, `--documents restored`',
  },
  {
    name: 'restored-together-unsaid',
    expect: 'breaks',
    ...base,
    restores: 1,
    defines: ['RESTORE_BOTH', 'NO_DOCUMENTS_RESTORED'],
    summary: 'the same, and nobody says so',
  },
];

const mutant = (name, guard, bounds = {}, defines = [name.toUpperCase().replaceAll('-', '_')]) => ({
  name,
  guard,
  expect: 'breaks',
  ...base,
  ...bounds,
  defines,
});

/** Guards whose removal alone breaks an invariant. */
const NEEDED = [
  mutant('no-fence', 'The mark requires an open attempt'),
  mutant('unconditional-close', 'Recovery closes an attempt only while it is open'),
  mutant('free-keeps-attempts', 'Whoever frees rows closes their open attempts', { operators: 1 }),
  mutant('close-any-sender', 'An activity closes only what it marked itself', { operators: 1 }),
  mutant('no-clock-check', 'Nothing is written past the HTTP time-out', { operators: 1 }),
  mutant('files-overwritten', 'A send file is created exclusively', { restores: 1 }),
  mutant('no-listing', 'The files are held against the ledger before every send and judgement', {
    executions: 3,
    restores: 1,
  }),
  mutant('by-number-only', 'They are compared by sender, and not by number alone', { executions: 3, restores: 1 }),
  mutant('no-collision-check', 'Nothing is sent while another live row holds the fingerprint', { restores: 1 }),
  mutant('errored-frees-all', 'Rows are freed only when no attempt of them may still be a certificate', {
    operators: 1,
  }),
  mutant('resolve-unnamed', 'resolve names the attempt that it answers', { operators: 1, repeats: 1 }),
  mutant('no-settle-window', 'not-filed waits for the settle window', { operators: 1 }),
  mutant('no-last-look', 'not-filed looks at the service a last time', { operators: 1 }),
];

/** Guards that stand behind another one: the removal of both breaks an invariant. */
const TOGETHER = [
  mutant(
    'no-row-check',
    'The mark requires live, planned rows (and whoever frees rows closes their attempts)',
    { operators: 1 },
    ['NO_ROW_CHECK', 'FREE_KEEPS_ATTEMPTS'],
  ),
  mutant('no-void', 'A missing file is made void (and the sender reads its own mark again)', {}, [
    'NO_VOID',
    'NO_OWN_MARK',
  ]),
  mutant('no-unique-index', 'A live fingerprint refuses another filing (and the mark looks again)', {}, [
    'NO_UNIQUE_INDEX',
    'NO_COLLISION_CHECK',
  ]),
];

export const MUTANTS = [...NEEDED, ...TOGETHER];
