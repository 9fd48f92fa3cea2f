import { type Command, InvalidArgumentError, Option } from 'commander';
import { LONGEST_DURATION, parseDuration } from '../../../domain/dates';
import type { FilingResult } from '../../../domain/contracts';
import { isUploadType, UPLOAD_TYPES } from '../../../domain/rules/columns';
import { parseAllowDuplicate, type PermittedDuplicate } from '../../../domain/rules/duplicates';
import type { Waiting } from '../../../domain/filing/view';
import type { Cli } from '../context';
import { isEnd } from '../../../domain/filing/states';
import type { FilingOutcome } from '../../filings/outcome';
import { EXIT, type ExitCode, UsageError } from '../../errors';
import { filingPage, progressText } from '../filing-text';
import type { Page } from '../page';
import type { WaitOptions } from '../../filings/start';
import type { PartOfList } from '../../reader';
import { userInfo } from 'node:os';
import { stat } from 'node:fs/promises';
import { dirname, extname } from 'node:path';

/** Default of `--by`: the user of the operating system. */
function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return 'unknown';
  }
}

export const byOption = () =>
  new Option('--by <name>', 'who does this, for the record; with EBRC_TOKEN its principal does').default(
    currentUser(),
    'the user of this machine',
  );

export const channelOption = () =>
  new Option('--channel <channel>', 'how it is sent').choices(['auto', 'push', 'bulk']).default('auto');

/** @param when when the option is needed; default: if the file does not have it, followed by the list of types */
export const uploadTypeOption = (when?: string) => {
  const codes = Object.keys(UPLOAD_TYPES);
  const types = Object.entries(UPLOAD_TYPES).map(([code, name]) => `${code} ${name}`);
  const option = new Option('--upload-type <code>', when ?? `if the file does not have it: ${types.join(', ')}`);
  return option.choices(codes).argParser((text) => {
    const code = Number(text);
    if (isUploadType(code)) return code;
    throw new InvalidArgumentError(`Allowed choices are ${codes.join(', ')}.`);
  });
};

export const declarationOption = () =>
  new Option(
    '--declaration <flag>',
    'the legal declaration, if the file does not have it; no default; see below what Y declares',
  ).choices(['Y', 'N']);

/** `--allow-duplicate ROWS=REASON`, which may be given several times. */
export const allowDuplicateOption = () =>
  new Option(
    '--allow-duplicate <rows=reason>',
    'let only these rows pass although their mapping is live, such as 17,203=REASON',
  ).argParser((text: string, before: PermittedDuplicate[] | undefined) => {
    const permitted = parseAllowDuplicate(text);
    if (permitted === null) {
      throw new InvalidArgumentError(
        'Give rows and a reason, such as 17,203=REASON or 17-19=REASON; a refusal prints it.',
      );
    }
    return [...(before ?? []), ...permitted];
  });

/** Parses `5s`, `2h`, … to milliseconds. */
export function durationArgument(text: string): number {
  const ms = parseDuration(text);
  if (ms === null)
    throw new InvalidArgumentError(`Give a number with ms, s, m, h or d, such as 90s; at most ${LONGEST_DURATION}.`);
  return ms;
}

const wholeNumber = (least: number, most: number, advice: string) => (text: string) => {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new InvalidArgumentError(advice);
};

const limitArgument = wholeNumber(1, Number.MAX_SAFE_INTEGER, 'Give a whole number from 1.');

/** A TCP port; 0 takes a free one. */
export const portArgument = wholeNumber(0, 65_535, 'A port is a number from 0 to 65535.');

/** Collects the values of an option that may be given several times. */
export const several = (text: string, before: string[] = []): string[] => [...before, text.trim()];

export interface ListPart extends PartOfList {
  jsonl?: boolean;
}

/** @param entry what identifies an entry of the list, as `--after` takes it */
export function withListOptions(command: Command, entry: string): Command {
  return command
    .option('--limit <n>', 'no more than these', limitArgument)
    .option(`--after <${entry}>`, 'only what comes behind this one, the last one of the list before')
    .option('--jsonl', 'print one JSON text a line, while the list is read');
}

/** Prints a list while it is read, and says how to get the rest. @param nameOf the value of an entry for `--after` */
export async function printList<T>(
  { terminal }: Cli,
  pages: AsyncIterable<readonly T[]>,
  { page, limit, jsonl, nameOf }: { page: (items: readonly T[]) => Page; nameOf: (last: T) => string } & ListPart,
): Promise<void> {
  let last: T | undefined;
  async function* watched() {
    for await (const items of pages) {
      last = items.at(-1) ?? last;
      yield items;
    }
  }
  const count = await terminal.pages(watched(), page, jsonl);
  if (last !== undefined && count === limit)
    terminal.note(`These are ${count}; more with --after "${nameOf(last)}", or a larger --limit.`);
}

/** Prints the address of a server, and returns on Ctrl-C or SIGTERM. */
export async function stayUp({ terminal }: Cli, shown: object, page: () => Page): Promise<void> {
  // On one line, so that a program that starts it can read one line and go on.
  if (terminal.json) terminal.stdout.write(`${JSON.stringify(shown)}\n`);
  else terminal.result(shown, page);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}

export const strictOption = () =>
  new Option('--strict', 'refuse rows that, by their warnings, are usually rejected or would be certified twice');

/** Options and callbacks of a command that may wait for a filing. Progress goes to stderr. */
export function waiting(cli: Cli, wait: boolean | undefined): WaitOptions {
  const { terminal } = cli;
  const progress = terminal.progress();
  let last: FilingResult | undefined;
  let waits: Waiting | null | undefined;
  const onProgress = (result: FilingResult) => {
    const moved = last?.state !== result.state;
    last = result;
    if (moved) waits = undefined;
    const { filingId, state } = result;
    if (filingId === null || isEnd(state)) return progress.say(progressText(result));
    if (waits !== undefined) progress.say(progressText(result, waits));
    if (moved) {
      void waitingOf(cli, filingId).then((read) => {
        if (last?.state !== state) return;
        waits = read;
        progress.say(progressText(last, read));
      });
    }
  };
  if (wait) cli.onInterrupt(() => interruptText(last?.filingId ?? null));
  return { wait: wait ?? false, onProgress, onNotice: (notice) => terminal.note(notice) };
}

/** What the ledger says the filing waits for; null if it cannot be read now. */
async function waitingOf(cli: Cli, filingId: string): Promise<Waiting | null> {
  try {
    return (await (await cli.reader()).show(filingId)).waiting;
  } catch {
    return null;
  }
}

const interruptText = (filingId: string | null): string =>
  filingId === null
    ? 'If it was started already, it continues, and `ebrc list` shows it. Repeating the command files nothing twice.'
    : `The filing continues; only this command ended. \`ebrc show ${filingId}\` shows its state.`;

/** Prints the result of a command that files, or changes a filing, and returns its exit code. */
export function printOutcome({ terminal }: Cli, outcome: FilingOutcome): ExitCode {
  terminal.result(outcome.filing, () => filingPage(outcome.filing));
  if (outcome.notice) terminal.note(outcome.notice);
  return exitCodeOf(outcome);
}

/** The exit code of a command that files. A filing that ended without all its certificates counts as refused. */
function exitCodeOf({ filing, waitsForPerson: waits }: FilingOutcome): ExitCode {
  if (waits) return EXIT.waiting;
  if (filing.state === 'refused') return EXIT.refused;
  // A filing without an id was started, but no worker has recorded it yet.
  if (filing.filingId === null || !isEnd(filing.state)) return EXIT.done;
  return filing.state === 'certified' ? EXIT.done : EXIT.refused;
}

export const forceOption = () => new Option('--force', 'replace a file that exists');

export interface WriteOptions {
  output: string;
  /** `--force`: replace an existing file. */
  force?: boolean;
}

/**
 * Checks the file of `-o` before any work. An existing file is refused, because somebody may have filled it in.
 * Terminals and devices are accepted.
 * @param endings such as `.xlsx`
 * @throws UsageError that says what to write instead
 */
export async function checkOutputPath(
  { output: path, force = false }: Partial<WriteOptions>,
  ...endings: readonly string[]
): Promise<void> {
  if (path === undefined) return;
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) throw new UsageError(`${path} is a folder. Name a file in it.`);
  if (found && !found.isFile()) return;
  if (!endings.includes(extname(path).toLowerCase())) {
    throw new UsageError(`The name of the file must end in ${endings.join(' or ')}, unlike ${path}.`);
  }
  if (found && !force) {
    throw new UsageError(`${path} exists. Name another file, or replace this one with --force.`, 'file_exists');
  }
  const folder = dirname(path);
  if (!(await stat(folder).catch(() => null))?.isDirectory()) {
    throw new UsageError(`There is no folder ${folder}. Make it first, or name a file in another folder.`);
  }
}
