/**
 * Directions, doors and circles of the source, type imports counted. `docs/how-it-works.md` draws the same picture. A
 * folder is a room: other rooms import what stands at its top, or in the sub-folders that a rule below does not close.
 */

/**
 * What a room of `src/` may import besides itself. A room that is not listed composes the others, and may import all of
 * them.
 */
const ALLOWED = {
  domain: [],
  keys: [],
  codec: ['keys'],
  telemetry: [],
  threads: [],
  // The sandbox is the independent witness: it knows nothing of the worker.
  sandbox: [],
  ledger: ['domain', 'keys', 'telemetry'],
  documents: ['domain'],
  workbook: ['domain', 'threads'],
  budget: ['domain', 'ledger'],
  api: ['domain', 'budget', 'telemetry'],
  reports: ['domain', 'ledger', 'threads'],
  runs: ['domain', 'ledger', 'worker', 'workflows'],
  activities: ['domain', 'api', 'budget', 'ledger', 'documents', 'workbook', 'runs', 'reports'],
  workflows: ['domain'],
};

/** Sub-folders that nobody enters but their own room. */
const CLOSED = [
  'workbook/sheet',
  'workbook/annotate',
  'workbook/ooxml',
  'reports/groups',
  'reports/html',
  'workflows/filing',
  'workflows/exporter',
  'sandbox/endpoints',
  'sandbox/http',
];

const directions = Object.entries(ALLOWED).map(([room, allowed]) => ({
  name: `${room}-imports`,
  comment: `src/${room} imports ${['itself', ...allowed].join(', ')} alone`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: {
    path: '^(src|dev|bench|chaos|test)/',
    pathNot: `^src/(${[room, ...allowed].join('|')})/`,
    // Activities reach workflows as types alone: what they import must not get into the workflow bundle.
    ...(room === 'workflows' && { dependencyTypesNot: ['type-only'] }),
  },
}));

const doors = CLOSED.map((folder) => ({
  name: `door-of-${folder.replace('/', '-')}`,
  comment: `src/${folder} is entered from src/${folder.split('/')[0]} alone`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/${folder.split('/')[0]}/` },
  to: { path: `^src/${folder}/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...directions,
    ...doors,
    {
      name: 'workflow-types',
      comment: 'Of other rooms, workflows know the types of activities alone',
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: { path: '^src/', pathNot: '^src/(workflows|domain|activities)/' },
    },
    {
      name: 'no-circle',
      comment: 'Files that need each other are one file, or a third one is missing',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'published-alone',
      comment: 'What is published does not need what is not',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(dev|bench|chaos|test|scripts)/' },
    },
    {
      name: 'not-to-dev-dependency',
      comment: 'Packages that a user does not install',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
    exclude: { path: '\\.json$' },
  },
};
