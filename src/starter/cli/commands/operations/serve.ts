import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, type Command } from 'commander';
import { parseListenAddress, type ListenAddress } from '../../../../config/listen-address';
import { type Bind, WAIT_FOR_LEDGER_MS, type Cli } from '../../context';
import { stopSignal } from '../options';

const HELP = `
The API is at /v1, its description at /v1/openapi.json and /docs; /healthz, /readyz and /metrics need no token. \`ebrc principals\`
makes tokens. It has no TLS of its own: beyond this machine, put a proxy with TLS before it. As many of them as you like may run.

Examples:
  $ ebrc serve
  $ ebrc serve --listen 0.0.0.0:8080
  $ curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/v1/filings`;

/** Connections of one door: reads take one each, for milliseconds. */
const POOL = 10;

export function addServeCommand(program: Command, bind: Bind): void {
  program
    .command('serve')
    .summary('serve the HTTP API')
    .description('Serve the HTTP API for back offices, until Ctrl-C.')
    .option('--listen <address>', 'address to listen on (default: EBRC_HTTP, 127.0.0.1:8080)', addressArgument)
    .addHelpText('after', HELP)
    .action(bind((cli, _args, flags: { listen?: ListenAddress }) => serve(cli, flags)));
}

function addressArgument(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address) return address;
  throw new InvalidArgumentError('Give host:port, such as 127.0.0.1:8080.');
}

/**
 * Of the memory that lives: without it a busy door holds up to four times as much in garbage. Its young generation
 * stays as it is: a small one, as the worker has, costs CPU at each request.
 */
const GARBAGE_PERCENT = 30;

async function serve(cli: Cli, { listen }: { listen?: ListenAddress }): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
  const config = await cli.config(
    'mode',
    'database',
    'documents',
    'temporal',
    'http',
    'log',
    'reports',
    'tuning',
    'filing',
  );
  const { databaseUrl, mode, taskQueue, logLevel, temporalUi } = config;
  const [{ startDoor }, { openLedger }, { createLogger }, { createWorkbookThreads }] = await Promise.all([
    import('../../../../server/door.js'),
    import('../../../connect.js'),
    import('../../../../telemetry/logger.js'),
    import('../../../../workbook/workbooks.js'),
  ]);
  const logger = createLogger({ level: logLevel, name: 'ebrc-door', stderr: true });
  const temporal = await cli.temporal();
  const documents = await cli.documents();
  const pool = await openLedger(databaseUrl, {
    waitMs: WAIT_FOR_LEDGER_MS,
    onWait: (notice) => cli.terminal.note(notice),
    applicationName: 'ebrc-door',
    max: POOL,
  });
  const workbooks = createWorkbookThreads();
  const links =
    temporalUi === undefined ? {} : { temporalUi: { address: temporalUi, namespace: config.temporal.namespace } };
  try {
    const deps = {
      pool,
      temporal,
      documents,
      workbooks,
      cadence: { rateWindowMs: config.rateWindowMs, poll: config.poll },
      mode,
      taskQueue,
      ...links,
    };
    const door = await startDoor({ deps, logger, address: listen ?? config.http });
    const shown = { url: door.url, openapi: `${door.url}/v1/openapi.json`, mode };
    // One line, so that a program that started it can continue after the first line.
    if (cli.terminal.json) cli.terminal.stdout.write(`${JSON.stringify(shown)}\n`);
    else
      cli.terminal.result(
        shown,
        () => `The HTTP API is at ${door.url}/v1 (${mode} mode), its description at ${door.url}/docs. Ctrl-C stops it.`,
      );
    await stopSignal();
    await door.close();
  } finally {
    await workbooks.close();
    await pool.end();
  }
}
