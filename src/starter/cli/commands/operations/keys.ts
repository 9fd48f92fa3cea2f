import { randomBytes } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { EXIT, UsageError } from '../../../errors';
import type { Bind } from '../../context';
import { apart, table } from '../../page';

const PAYLOAD_HELP = `
Callers, every command line, \`ebrc serve\` and the codec server need this key as EBRC_PAYLOAD_KEY,
and not EBRC_ENCRYPTION_KEY: no password opens with it. Keep it secret all the same, because it
opens what Temporal holds of filings.

Example:
  $ ebrc keys payload`;

const INIT_HELP = `
Writes the two keys, which are drawn here, and an empty file for each secret that others give you;
a file that is there is never touched. The folder is for its owner alone, and its files can be read
by the user of the containers.

Example:
  $ ebrc keys init --out docker/secrets`;

/** `keys payload`, `keys init`. */
export function addKeysCommand(program: Command, bind: Bind): void {
  const keys = program
    .command('keys')
    .summary('make the secrets of an installation; print the key of Temporal’s payloads')
    .description('The keys of an installation.')
    .addHelpText('after', PAYLOAD_HELP);
  keys
    .command('payload')
    .description('Print the key of Temporal’s payloads, for EBRC_PAYLOAD_KEY of those who open no passwords.')
    .addHelpText('after', PAYLOAD_HELP)
    .action(
      bind(async (cli) => {
        const { payloadKeys } = await cli.config('payloads');
        if (payloadKeys.length === 0) {
          throw new UsageError('Payloads are not encrypted: set EBRC_ENCRYPTION_KEY or EBRC_PAYLOAD_KEY.');
        }
        const payloadKey = payloadKeys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(',');
        cli.terminal.result({ payloadKey }, () => payloadKey);
      }),
    );
  keys
    .command('init')
    .description('Make the files of the secrets that an installation needs.')
    .requiredOption('--out <folder>', 'where they are written, such as docker/secrets')
    .addHelpText('after', INIT_HELP)
    .action(
      bind(async (cli, _args, { out }: { out: string }) => {
        const written = await makeSecrets(out);
        cli.terminal.result(written, () =>
          apart([
            table(
              ['File', 'Written', 'What it is', 'Back it up'],
              written.map(({ file, written: now, what, backup }) => [file, now, what, backup]),
            ),
            'Back up the keys apart from the ledger: whoever has both opens the passwords.',
          ]),
        );
        return EXIT.done;
      }),
    );
}

const FROM_OTHERS = {
  DATABASE_URL: 'postgres://USER:PASSWORD@HOST/ebrc?sslmode=verify-full, of a user in ebrc_run',
  DATABASE_URL_SERVE: 'the same of a user in ebrc_serve: for the HTTP API',
  DATABASE_URL_OWNER: 'the same of a user in ebrc_migrate: for `ebrc ledger migrate` and `ebrc principals`',
  EBRC_API_KEY: 'the key of the filing service, prod_… or dev_…',
} as const;

/** Containers run as another user than whoever makes the files. */
const READABLE = 0o444;

export interface MadeSecret {
  file: string;
  /** `made`: drawn here; `empty`: to be filled in; `kept`: it was there. */
  written: 'made' | 'empty' | 'kept';
  what: string;
  backup: 'yes' | 'no';
}

async function makeSecrets(folder: string): Promise<MadeSecret[]> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  const encryptionKey = `k1:${randomBytes(32).toString('base64')}`;
  const { loadConfig } = await import('../../../../config/config.js');
  const [payload] = loadConfig({ EBRC_ENCRYPTION_KEY: encryptionKey }, { need: ['payloads'] }).payloadKeys;
  const put = async (name: string, content: string): Promise<boolean> => {
    const file = join(folder, name);
    try {
      await writeFile(file, content, { flag: 'wx', mode: content === '' ? 0o600 : READABLE });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return false;
    }
  };
  const made: MadeSecret[] = [];
  const note = (name: string, isNew: boolean, how: 'made' | 'empty', what: string) =>
    made.push({ file: join(folder, name), written: isNew ? how : 'kept', what, backup: how === 'made' ? 'yes' : 'no' });
  const isNew = await put('EBRC_ENCRYPTION_KEY', `${encryptionKey}\n`);
  note('EBRC_ENCRYPTION_KEY', isNew, 'made', 'opens the portal passwords: workers alone have it');
  // A payload key that belongs to another encryption key would split what workers and callers read.
  const payloadKey = isNew && payload ? `${payload.id}:${payload.key.toString('base64')}\n` : '';
  const derived = payloadKey === '' ? false : await put('EBRC_PAYLOAD_KEY', payloadKey);
  const ofPayload = 'opens what Temporal holds; derived from the other key: `ebrc keys payload` prints it again';
  note('EBRC_PAYLOAD_KEY', derived, 'made', ofPayload);
  for (const [name, what] of Object.entries(FROM_OTHERS)) note(name, await put(name, ''), 'empty', what);
  return made;
}
