import { readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { History } from '@temporalio/common/lib/proto-utils';
import { historyToJson } from './history-json';

const HISTORIES = join(__dirname, 'histories');

/** A recorded history, in the JSON that `temporal workflow show --output json` prints too. */
export interface RecordedHistory {
  file: string;
  version: string;
  scenario: string;
  workflowId: string;
  events: RecordedEvent[];
}

export interface RecordedEvent {
  eventId: string;
  eventType: string;
  [attributes: string]: unknown;
}

/**
 * Every `<version>-<scenario>.json` of a folder, by name. Throws on a file that is named otherwise, which would never
 * be replayed, and where there is none: a replay of nothing finds nothing wrong.
 */
export async function readHistories(folder = HISTORIES): Promise<RecordedHistory[]> {
  const files = (await readdir(folder)).sort();
  if (files.length === 0) throw new Error(`There are no recorded histories in ${folder}.`);
  return Promise.all(
    files.map(async (file) => {
      const [, version, scenario] = /^(\d+\.\d+\.\d+)-(.+)\.json$/u.exec(file) ?? [];
      if (version === undefined || scenario === undefined) {
        throw new Error(`${file} is not named <version>-<scenario>.json`);
      }
      const { events } = JSON.parse(await readFile(join(folder, file), 'utf8')) as { events: RecordedEvent[] };
      return { file, version, scenario, workflowId: startOf(events).workflowId ?? scenario, events };
    }),
  );
}

/**
 * Writes a recording. An existing one is history that a released worker made: it is replaced only where that is said.
 * @throws Error when it exists and `replace` is not set
 */
export async function writeHistory(
  recording: { version: string; scenario: string; workflowId: string; history: History },
  { replace, folder = HISTORIES }: { replace: boolean; folder?: string },
): Promise<string> {
  const { version, scenario, workflowId, history } = recording;
  const { events } = withoutTheMachine(historyToJson(history)) as { events: RecordedEvent[] };
  startOf(events).workflowId = workflowId;
  const file = `${version}-${scenario}.json`;
  const content = `${JSON.stringify({ events })}\n`;
  await writeFile(join(folder, file), content, { flag: replace ? 'w' : 'wx' }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`${file} exists. Say --replace to record it again; a released worker's history is kept instead.`);
  });
  return file;
}

/** The texts in a history, payloads decoded: what a reader of the file could learn from it. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) =>
    name === 'data' && typeof each === 'string' ? [Buffer.from(each, 'base64').toString('utf8')] : textsOf(each),
  );
}

/** What the workflow returned, and null when it has not ended by itself. */
export function resultOf({ events }: RecordedHistory): Record<string, unknown> | null {
  const texts = textsOf(events.at(-1)?.workflowExecutionCompletedEventAttributes);
  return JSON.parse(texts.find((text) => text.startsWith('{')) ?? 'null') as Record<string, unknown> | null;
}

/** What does not matter to a replay, and tells of the machine that recorded: who ran it, and where its files lie. */
const OF_THE_MACHINE: Readonly<Record<string, string>> = { identity: 'recorder', stackTrace: '' };

/** The document store's folder in the data of a payload. */
function withoutFolder(data: string): string {
  const text = Buffer.from(data, 'base64').toString('utf8');
  return text.includes(tmpdir()) ? toBase64(text.replaceAll(/"[^"]+(?=\/documents\/)/gu, '"')) : data;
}
const toBase64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

function withoutTheMachine(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTheMachine);
  // A worker's own task queue is named after its process.
  if (typeof value === 'string') return value.replace(/^\d+@.+-(?=[0-9a-f]{32}$)/u, 'recorder-');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]: [string, unknown]) => [
      name,
      name === 'data' && typeof each === 'string'
        ? withoutFolder(each)
        : (OF_THE_MACHINE[name] ?? withoutTheMachine(each)),
    ]),
  );
}

function startOf(events: RecordedEvent[]): { workflowId?: string } {
  const start = events[0]?.workflowExecutionStartedEventAttributes;
  if (typeof start !== 'object' || start === null) throw new Error('a history starts with workflowExecutionStarted');
  return start;
}
