import { Argument, type Command } from 'commander';
import { UsageError } from '../../../errors';
import type { Bind } from '../../bind';
import { localTime, table } from '../../page';

const HELP = `
  current  send new workflows, and the next tasks of old ones, to the version of EBRC_BUILD_ID
           (or --build-id)
  status   show the versions: which is current, which still drain

Workers with EBRC_DEPLOYMENT and EBRC_BUILD_ID take no work until their version is current; no worker makes itself current.

Examples:
  $ EBRC_DEPLOYMENT=ebrc ebrc deploy current --build-id 2026-11-22.1
  $ EBRC_DEPLOYMENT=ebrc ebrc deploy status`;

export function addDeployCommand(program: Command, bind: Bind): void {
  program
    .command('deploy')
    .summary('set or show the current worker version')
    .description('Set or show which version of the workers takes the work.')
    .addArgument(new Argument('<action>').choices(['current', 'status']))
    .option('--build-id <id>', 'the version, instead of EBRC_BUILD_ID')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [action], { buildId }: { buildId?: string }) => {
        const { makeCurrent, readDeployment } = await import('../../../deployment.js');
        const { deployment: configured } = await cli.config('deployment');
        const { name, buildId: own } = configured ?? {};
        if (name === undefined) throw new UsageError('Set EBRC_DEPLOYMENT to the name that the workers use.');
        const temporal = await cli.temporal();
        if (action === 'current') {
          const version = buildId ?? own;
          if (version === undefined) throw new UsageError('Set EBRC_BUILD_ID, or give --build-id.');
          await makeCurrent(temporal, { deployment: name, buildId: version });
        }
        const versions = await readDeployment(temporal, name);
        cli.terminal.result(versions, () =>
          table(
            ['Version', 'State', 'Since'],
            versions.map((each) => [each.buildId, each.state, localTime(each.createdAt)]),
          ),
        );
      }),
    );
}
