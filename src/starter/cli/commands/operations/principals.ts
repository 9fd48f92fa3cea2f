import type { Mode } from '../../../../domain/names';
import { Option, type Command } from 'commander';
import { ROLES } from '../../../../domain/principal';
import type { PrincipalEntry, PrincipalView, PrincipalWithToken } from '../../../principals';
import type { Bind } from '../../context';
import { apart, fields, localTime, optional, right, table, type Page, type Part } from '../../page';
import { byOption, durationArgument, several } from '../options';
import type { RotationResult } from '../../../../ledger/vault/vault';
import { EXIT } from '../../../errors';

const HELP = `
Roles: viewer reads; maker checks, files, corrects and abandons; checker approves, resolves and abandons, and is a person;
admin onboards exporters and renews credentials. Whoever made a filing never approves it.

These commands need the database user that owns the ledger. Whoever has it can make any principal.

Examples:
  $ ebrc principals add "Asha Rao" --role maker --role viewer
  $ ebrc principals add erp --system --role maker --exporter accounts@asha.example --expires 90d --json
  $ ebrc principals rotate erp
  $ ebrc principals remove "Asha Rao"`;

const TOKEN_ONCE = 'It is shown this once, and only its hash is kept.';

/** `principals add|list|rotate|remove`. */
export function addPrincipalCommands(program: Command, bind: Bind): void {
  const principals = program
    .command('principals')
    .summary('say who may use the HTTP API, and make their tokens')
    .description('The persons and systems that may use the HTTP API (`ebrc serve`).')
    .addHelpText('after', HELP);
  principals
    .command('add')
    .summary('add a principal and print its token')
    .description('Add a person or a system and print its token, once.')
    .argument('<name>', 'its name; another spelling of it names the same principal')
    .addOption(
      new Option('--role <role>', `${ROLES.join(', ')}; may be given several times`)
        .argParser(several)
        .makeOptionMandatory(),
    )
    .option('--system', 'a program, not a person: it cannot be a checker')
    .addOption(
      new Option(
        '-e, --exporter <exporter>',
        'may see only this exporter (id or e-mail); may be given several times; default: all',
      ).argParser(several),
    )
    .option('--expires <duration>', 'ends after this time, such as 90d (default: never)', durationArgument)
    .addOption(byOption())
    .addHelpText('after', HELP)
    .action(
      bind<{
        role: string[];
        system?: boolean;
        exporter?: string[];
        expires?: number;
        by: string;
      }>(async (cli, [name = ''], { role, system, exporter, expires, by }) => {
        const { addPrincipal } = await import('../../../principals.js');
        const request = { name, roles: role, system, exporters: exporter, expiresInMs: expires, by };
        const added = await addPrincipal(await cli.ledger({ writes: true }), request);
        cli.terminal.result(added, () => tokenText(added));
      }),
    );
  principals
    .command('list')
    .summary('list the principals')
    .description('List the principals with their roles and exporters.')
    .addHelpText('after', '\nExample:\n  $ ebrc principals list')
    .action(
      bind(async (cli) => {
        const { listPrincipals } = await import('../../../principals.js');
        const all = await listPrincipals(await cli.ledger());
        const { mode } = await cli.config('mode');
        cli.terminal.result(all, () => listText(all, mode));
      }),
    );
  principals
    .command('rotate')
    .summary('make a new token; the old one is valid for another day')
    .description('Make a new token and print it, once. The old one is valid for another day.')
    .argument('<name>', 'as `ebrc principals list` shows it')
    .option('--now', 'the old one leaked: it ends at once')
    .addOption(byOption())
    .addHelpText('after', '\nExamples:\n  $ ebrc principals rotate erp --json\n  $ ebrc principals rotate erp --now')
    .action(
      bind(async (cli, [name = ''], { by, now }: { by: string; now?: boolean }) => {
        const { rotatePrincipal } = await import('../../../principals.js');
        const rotated = await rotatePrincipal(await cli.ledger({ writes: true }), { name, by, now });
        const { previousEndsAt } = rotated;
        cli.terminal.result(rotated, () => [
          ...tokenText(rotated),
          previousEndsAt && `The token before it ${now ? 'has ended' : 'ends'} at ${localTime(previousEndsAt)}.`,
        ]);
      }),
    );
  principals
    .command('remove')
    .summary('remove a principal; its tokens end at once')
    .description('Remove a principal. Its tokens end at once; what it did stays on record under its name.')
    .argument('<name>', 'as `ebrc principals list` shows it')
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc principals remove erp')
    .action(
      bind(async (cli, [name = ''], { by }: { by: string }) => {
        const { removePrincipal } = await import('../../../principals.js');
        const removed = await removePrincipal(await cli.ledger({ writes: true }), { name, by });
        cli.terminal.result(removed, () => `${removed.name} is removed, and its tokens have ended.`);
      }),
    );
}

function tokenText(principal: PrincipalWithToken): Part[] {
  return apart([fields([...shown(principal), ['Token', principal.token]]), TOKEN_ONCE]);
}

function shown({ principal, name, roles, system, exporterNames, expiresAt }: PrincipalView): [string, unknown][] {
  return [
    ['Principal', principal],
    ['Name', name],
    ['Kind', system ? 'system' : 'person'],
    ['Roles', roles.join(', ')],
    ['Exporters', exporterNames === null ? 'all' : exporterNames.join(', ')],
    ['Ends', localTime(expiresAt)],
  ];
}

function listText(all: readonly PrincipalEntry[], mode: Mode): Page {
  if (all.length === 0) return `No principals in ${mode} mode. \`ebrc principals add\` adds one.`;
  return table(
    ['Name', 'Kind', 'Roles', 'Exporters', 'Ends', right('Tokens'), optional('Signs in at'), optional('Principal')],
    all.map((principal) => {
      const [, ...cells] = shown(principal).map(([, value]) => value);
      return [...cells, principal.tokens, principal.issuer, principal.principal];
    }),
  );
}

const VAULT_HELP = `
To change the key: put the new one behind the old one in EBRC_ENCRYPTION_KEY (old:BASE64,new:BASE64) and restart every worker; put
it first and restart them again; run this command where a worker runs; then remove the old key.

Example:
  $ ebrc vault rotate`;

export function addVaultCommand(program: Command, bind: Bind): void {
  const vault = program
    .command('vault')
    .summary('re-encrypt the stored portal passwords')
    .description('The vault of portal passwords.')
    .addHelpText('after', VAULT_HELP);
  vault
    .command('rotate')
    .description(
      'Re-encrypt every stored password under the first key of EBRC_ENCRYPTION_KEY, and seal new ones to it.',
    )
    .addHelpText('after', VAULT_HELP)
    .action(
      bind(async (cli) => {
        const { encryptionKeys } = await cli.config('encryption', 'database');
        const { createVault } = await import('../../../../ledger/vault/vault.js');
        const result = await createVault({ keys: encryptionKeys }).rotate(await cli.pool());
        const keyId = encryptionKeys[0].id;
        cli.terminal.result({ keyId, ...result }, () => rotationText(keyId, result));
        return result.unreadable.length > 0 ? EXIT.unexpected : EXIT.done;
      }),
    );
}

function rotationText(keyId: string, { rotated, kept, unreadable }: RotationResult): Page {
  const counts = `${rotated} sealed anew to key ${keyId}, ${kept} were already; all of them open.`;
  if (unreadable.length === 0) return counts;
  const rows = unreadable.map((secret) => [
    secret.secretRef,
    secret.mode,
    secret.exporterId,
    secret.keyId,
    secret.problem,
  ]);
  return [
    `${counts} ${unreadable.length} do not open and are left as they are:`,
    table(['Secret', 'Mode', 'Exporter', 'Key', 'Problem'], rows),
    'Keep their keys in EBRC_ENCRYPTION_KEY, or submit the credentials again with `ebrc credentials`.',
  ];
}
