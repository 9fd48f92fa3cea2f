/**
 * Import rules of the source: directions, private sub-folders and no cycles; type imports count. They match the list in
 * `docs/how-it-works.md`. Other folders may import the files at the top of a folder, and those in sub-folders that are
 * not in CLOSED.
 */

/**
 * What a folder of `src/` may import besides itself. A folder that is not listed composes the others, and may import all
 * of them.
 */
const ALLOWED = {
  domain: [],
  encryption: ['domain'],
  telemetry: [],
  ledger: ['domain', 'encryption', 'telemetry'],
  documents: ['domain'],
  workbook: ['domain'],
  budget: ['domain', 'ledger'],
  api: ['domain', 'budget', 'telemetry'],
  reports: ['domain', 'ledger', 'workbook'],
  temporal: ['domain', 'ledger'],
  activities: ['domain', 'api', 'budget', 'ledger', 'documents', 'workbook', 'temporal', 'reports', 'assistant'],
  workflows: ['domain'],
  server: ['domain', 'telemetry', 'config', 'ledger', 'documents', 'workbook', 'starter', 'temporal'],
};

/** Private sub-folders: only their own folder imports them. */
const CLOSED = [
  'workbook/sheet',
  'workbook/annotate',
  'workbook/ooxml',
  'workbook/foreign',
  'reports/groups',
  'reports/html',
  'workflows/filing',
  'workflows/exporter',
  'server/http',
  'server/access',
  'server/routes',
  'server/views',
  'server/pages',
];

const directions = Object.entries(ALLOWED).map(([room, allowed]) => ({
  name: `${room}-imports`,
  comment: `src/${room} imports only ${['itself', ...allowed].join(', ')}`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: {
    path: '^(src|dev|bench|chaos|test)/',
    pathNot: `^src/(${[room, ...allowed].join('|')})/`,
    // Workflows import only the types of activities: their other imports must not get into the workflow bundle.
    ...(room === 'workflows' && { dependencyTypesNot: ['type-only'] }),
  },
}));

const inside = CLOSED.map((folder) => ({
  name: `inside-of-${folder.replace('/', '-')}`,
  comment: `src/${folder} is private to src/${folder.split('/')[0]}`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/${folder.split('/')[0]}/` },
  to: { path: `^src/${folder}/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...directions,
    ...inside,
    {
      name: 'workflow-types',
      comment: 'Of other folders, workflows import only domain and the types of activities',
      severity: 'error',
      from: { path: '^src/workflows/' },
      to: { path: '^src/', pathNot: '^src/(workflows|domain|activities|assistant)/' },
    },
    {
      name: 'server-behind-its-command',
      comment: 'The HTTP API calls what the command line calls; only `ebrc serve` starts it',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(server/|starter/cli/commands/operations/serve\\.ts$)' },
      to: { path: '^src/server/' },
    },
    {
      name: 'server-not-to-command-line',
      comment: 'The HTTP API calls the functions of the starter, not the command line',
      severity: 'error',
      from: { path: '^src/server/' },
      to: { path: '^src/starter/cli' },
    },
    {
      name: 'filing-without-assistant',
      comment: 'Reading documents and proposing mappings help a person before a filing; no filing depends on them',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/(assistant/|worker/compose\\.ts$|activities/(create-activities|dependencies)\\.ts$|workflows/one-step\\.ts$|starter/(cli/|client\\.ts$|json-schemas\\.ts$))',
      },
      to: { path: '^src/assistant/' },
    },
    {
      name: 'no-circle',
      comment: 'Files that import each other should be one file, or share a third one',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'sandbox-alone',
      comment: 'The sandbox is an independent implementation of the service and imports nothing of the worker',
      severity: 'error',
      from: { path: '^sandbox/' },
      to: { path: '^(src|dev|bench|chaos|test|scripts)/' },
    },
    {
      name: 'sandbox-behind-its-command',
      comment: 'Only `ebrc sandbox` starts the sandbox',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/starter/cli/commands/operations/serve\\.ts$' },
      to: { path: '^(sandbox|dist/sandbox)/' },
    },
    {
      name: 'published-alone',
      comment: 'Published code must not import unpublished code',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(dev|bench|chaos|test|scripts)/' },
    },
    {
      name: 'not-to-dev-dependency',
      comment: 'Published code must not import development packages',
      severity: 'error',
      from: { path: '^(src|sandbox)/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js', '.json'] },
    exclude: { path: '\\.json$' },
  },
};
