import { createHash } from 'node:crypto';
import { z } from 'zod';
import { certificatesBefore } from '../certificates/snapshots';
import { movesUpTo, type MovesHead } from '../filings/filing-evidence';

/** The hash of an execution's secret, so that only the execution itself can say what became of its mark. */
export function senderOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Restores a send into a ledger that was put back. Void: nothing was, or will be, sent under the number. */
const sendRecord = z.object({
  version: z.literal(1),
  ledgerId: z.string(),
  number: z.number().int(),
  sender: z.string(),
  void: z.boolean(),
  attemptId: z.string().nullable(),
  /** The settle window and the HTTP time-out of the process that set the mark, in ms; null in a void record. */
  settleMs: z.number().nullable(),
  timeoutMs: z.number().nullable(),
  /** When the mark was set; ISO 8601. */
  at: z.string(),
  /** The rows of the tables as JSON text, which keeps amounts exact; null in a void record. */
  content: z.string().nullable(),
});
export type SendRecord = z.infer<typeof sendRecord>;

/** The sender of a void record. */
export const NOBODY = 'none';

/** Digits of a send's number in its name, and how many of them make one folder. */
const DIGITS = 12;
const GROUP = 3;
const NUMBER = new RegExp(`^\\d{${GROUP}}(/\\d{${GROUP}}){${DIGITS / GROUP - 1}}$`, 'u');

/** `sent/<ledgerId>/000/001/234/567`: no folder has more than a thousand entries, and names sort as numbers. */
export function sendName(ledgerId: string, number: number): string {
  const groups = String(number).padStart(DIGITS, '0').match(/.{3}/gu) ?? [];
  return [sendFolder(ledgerId), ...groups].join('/');
}

export function sendFolder(ledgerId: string): string {
  return `sent/${ledgerId}`;
}

/** The send number in the name of a record; null if the name is not a send's. */
export function numberOfName(ledgerId: string, name: string): number | null {
  const groups = name.slice(sendFolder(ledgerId).length + 1);
  return NUMBER.test(groups) ? Number(groups.replaceAll('/', '')) : null;
}

/** The record that gives up a number, so that the sender that marked it writes nothing. */
export function voidRecord(
  send: Pick<SendRecord, 'ledgerId' | 'number' | 'sender' | 'attemptId'> & { at: Date },
): SendRecord {
  const { at, ...parts } = send;
  return { ...parts, version: 1, void: true, at: at.toISOString(), settleMs: null, timeoutMs: null, content: null };
}

export function encodeSend(record: SendRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record)}\n`);
}

export function decodeSend(content: Buffer): SendRecord | null {
  try {
    return sendRecord.parse(JSON.parse(content.toString('utf8')));
  } catch {
    return null;
  }
}

/** SQL: everything in the ledger about the send of attempt $1, as text, to restore it from. */
export const CONTENT_OF_SEND = `(SELECT jsonb_build_object('attempt', to_jsonb(a), 'submission', to_jsonb(s), 'filing', to_jsonb(f),
            'exporter', to_jsonb(e), 'iec', p.iec, 'input', to_jsonb(i) - 'rows' - 'words',
            'snapshot', (SELECT to_jsonb(snap) || jsonb_build_object('certificates', ${certificatesBefore('snap')}) FROM snapshots snap
              WHERE snap.snapshot_id = a.snapshot_id AND snap.listed IS NOT NULL),
            'moves', ${movesUpTo('f.filing_id', 'f.seq')},
            'rows', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.position) FROM filing_rows r
              WHERE r.filing_id = a.filing_id AND r.submission = a.submission))::text
       FROM attempts a JOIN submissions s USING (filing_id, submission) JOIN filings f USING (filing_id)
       JOIN exporters e USING (exporter_id) JOIN parties p USING (party_id) JOIN filing_inputs i USING (input_ref) WHERE a.attempt_id = $1)`;

/** The head of the filing's moves in a send's record; null in a void record. */
export function movesAtSend({ content }: SendRecord): MovesHead | null {
  if (content === null) return null;
  return (JSON.parse(content) as { moves?: MovesHead }).moves ?? null;
}
