import { type Command, InvalidArgumentError, Option } from 'commander';
import { WEBHOOK_TEMPLATES } from '../../../../domain/webhooks';
import type { DeliveryView, WebhookView } from '../../../webhooks';
import type { Bind, Cli } from '../../context';
import { apart, fields, localTime, optional, right, table, type Page, type Part } from '../../page';
import { EXIT, UsageError } from '../../../errors';
import { byOption, several } from '../options';

const HELP = `
Workers tell an endpoint every event, in the order of each filing, at least once, signed as Standard Webhooks say, and once a day what
needs somebody. --template slack and teams are for the incoming webhooks of channels, which are told the latter alone. Only public
https addresses are told, and hosts that EBRC_WEBHOOK_HOSTS of the workers names. docs/http-api.md says how to receive them.

Examples:
  $ ebrc webhooks add https://erp.example/ebrc
  $ ebrc webhooks add https://hooks.slack.com/services/… --template slack
  $ ebrc webhooks test ID
  $ ebrc webhooks replay ID --since 2026-07-01T00:00:00Z`;

const ID = ['<id>', 'as `ebrc webhooks list` shows it'] as const;

function timeArgument(text: string): Date {
  const at = new Date(text);
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(at.getTime()))
    throw new InvalidArgumentError('Give a time such as 2026-07-01T09:00:00Z.');
  return at;
}

/** With a token its principal, who has to be an admin; otherwise whoever holds the ledger. */
async function caller(cli: Cli, writes: boolean) {
  const principal = await cli.principal();
  if (principal && !principal.roles.includes('admin'))
    throw new UsageError(`${principal.name} is no admin: webhooks are for admins.`, 'role_missing');
  return { ...(await cli.ledger({ writes })), principal };
}

/** `webhooks add|list|test|replay|rotate|remove`. */
export function addWebhookCommands(program: Command, bind: Bind): void {
  const webhooks = program
    .command('webhooks')
    .summary('tell other systems, Slack or Teams what happens')
    .description('Endpoints that are told of events.')
    .addHelpText('after', HELP);
  webhooks
    .command('add')
    .description('Add an endpoint and print its secret, once. It is told of what happens from now on.')
    .argument('<url>', 'an https address')
    .addOption(
      new Option('--template <template>', 'what it is told, and how').choices(WEBHOOK_TEMPLATES).default('events'),
    )
    .addOption(
      new Option(
        '-e, --exporter <exporter>',
        'only of this exporter (id or e-mail); may be given several times',
      ).argParser(several),
    )
    .addOption(byOption())
    .addHelpText('after', HELP)
    .action(
      bind<{ template: string; exporter?: string[]; by: string }>(async (cli, [url = ''], { exporter, ...more }) => {
        const { addWebhook } = await import('../../../webhooks.js');
        const added = await addWebhook(await caller(cli, true), { url, exporters: exporter, ...more });
        cli.terminal.result(added, () => secretText(added));
      }),
    );
  webhooks
    .command('list')
    .description('List the endpoints; with an id, what that one was told last and what came of it.')
    .argument('[id]', 'of an endpoint')
    .addHelpText('after', '\nExample:\n  $ ebrc webhooks list')
    .action(
      bind(async (cli, [id]) => {
        const { getWebhook, listDeliveries, listWebhooks } = await import('../../../webhooks.js');
        const who = await caller(cli, false);
        if (id === undefined) {
          const all = await listWebhooks(who);
          return cli.terminal.result(all, () => listText(all));
        }
        const [webhook, deliveries] = [await getWebhook(who, id), await listDeliveries(who, id, { limit: LAST })];
        cli.terminal.result({ ...webhook, deliveries }, () =>
          apart([fields(shown(webhook)), deliveriesText(deliveries)]),
        );
      }),
    );
  webhooks
    .command('test')
    .description('Have a worker send a test to an endpoint, and print what it answered.')
    .argument(...ID)
    .addHelpText('after', '\nExample:\n  $ ebrc webhooks test ID')
    .action(
      bind(async (cli, [webhookId = '']) => {
        const { testWebhook } = await import('../../../webhooks.js');
        const tested = await testWebhook(await caller(cli, true), { webhookId });
        cli.terminal.result(tested, () => testText(tested));
        return tested.state === 'delivered' ? EXIT.done : EXIT.refused;
      }),
    );
  addChangingCommands(webhooks, bind);
}

function addChangingCommands(webhooks: Command, bind: Bind): void {
  webhooks
    .command('replay')
    .description(
      'Let an endpoint go on, and tell it again what was given up, or everything from an event or a time on.',
    )
    .argument(...ID)
    .option('--event <id>', 'this event and everything after it')
    .option('--since <time>', 'everything from this time on', timeArgument)
    .addOption(byOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ ebrc webhooks replay ID\n  $ ebrc webhooks replay ID --since 2026-07-01T00:00:00Z',
    )
    .action(
      bind<{ event?: string; since?: Date; by: string }>(async (cli, [webhookId = ''], { event, since, by }) => {
        const { replayWebhook } = await import('../../../webhooks.js');
        const played = await replayWebhook(await caller(cli, true), { webhookId, event, since, by });
        cli.terminal.result(played, () => `${played.address} goes on; ${played.again} events are told again.`);
      }),
    );
  webhooks
    .command('rotate')
    .description('Make a new secret and print it, once. Requests are signed with the old one too for a day.')
    .argument(...ID)
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc webhooks rotate ID')
    .action(
      bind<{ by: string }>(async (cli, [webhookId = ''], { by }) => {
        const { rotateWebhook } = await import('../../../webhooks.js');
        const rotated = await rotateWebhook(await caller(cli, true), { webhookId, by });
        cli.terminal.result(rotated, () => secretText(rotated));
      }),
    );
  webhooks
    .command('remove')
    .description('Remove an endpoint. It is told nothing more.')
    .argument(...ID)
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc webhooks remove ID')
    .action(
      bind<{ by: string }>(async (cli, [webhookId = ''], { by }) => {
        const { removeWebhook } = await import('../../../webhooks.js');
        const removed = await removeWebhook(await caller(cli, true), { webhookId, by });
        cli.terminal.result(removed, () => `${removed.address} is removed.`);
      }),
    );
}

/** Deliveries that `list ID` shows. */
const LAST = 20;

const secretText = (webhook: WebhookView & { secret: string }): Page =>
  apart([
    fields([...shown(webhook), ['Secret', webhook.secret]]),
    'The secret is shown this once, and no command reads it back.',
  ]);

function shown(webhook: WebhookView): [string, unknown][] {
  const { webhookId, address, template, exporters, principal, state, since, pausedWhy, takenAt, waiting, givenUp } =
    webhook;
  return [
    ['Webhook', webhookId],
    ['Address', address],
    ['Template', template],
    ['Exporters', exporters?.join(', ') ?? 'all'],
    ['Added by', principal],
    ['State', since === null ? state : `${state} since ${localTime(since)}`],
    ['Why', pausedWhy],
    ['Last taken', localTime(takenAt)],
    ['Waiting', waiting],
    ['Given up', givenUp],
  ];
}

function listText(all: readonly WebhookView[]): Page {
  if (all.length === 0) return 'No webhooks. `ebrc webhooks add` adds one.';
  return table(
    [
      'Webhook',
      'Address',
      'Template',
      optional('Exporters'),
      optional('Added by'),
      'State',
      optional('Why'),
      'Last taken',
      right('Waiting'),
      right('Given up'),
    ],
    all.map((webhook) => shown(webhook).map(([, value]) => value)),
  );
}

function deliveriesText(deliveries: readonly DeliveryView[]): Part {
  if (deliveries.length === 0) return 'It was told nothing yet.';
  return table(
    ['Last tried', 'What', 'Subject', 'State', right('Tries'), 'Answer', optional('Next')],
    deliveries.map(({ kind, type, subject, state, tries, status, problem, lastAt, nextAt }) => [
      ...[localTime(lastAt), type ?? kind, subject, state.replace('_', ' '), tries],
      ...[problem ?? status, localTime(nextAt)],
    ]),
  );
}

function testText({ state, problem, status }: DeliveryView): string {
  if (state === 'delivered') return `It took the test (${status}).`;
  if (state === 'given_up') return `It did not take the test: ${problem}`;
  return 'No worker has sent the test yet: is one running? It is sent as soon as one is.';
}
