/** Pauses of a filing: why its next call waits, and until when. */
import { MINUTE_MS } from '../../domain/dates';
import type { Next, PauseReason } from '../../domain/filing/facts';
import type { ErrorKind } from '../../domain/service/error-kinds';
import {
  ACCESS,
  ACTIVATION,
  CREDENTIALS,
  delayMs,
  pauseReasonOf,
  type Schedule,
} from '../../domain/service/retry-table';
import type { Queryable } from '../pool';
import type { LockedFiling } from './lock';
import { addEvent } from './move';

/** Why a call failed, as the failure mapper gave it. */
export interface CallFailure {
  /** Null: it did not come from our code, such as a lost worker. */
  kind: ErrorKind | null;
  message: string;
  credentialsVersion?: number;
}

const SCHEDULES: Record<PauseReason, Schedule> = {
  credentials: CREDENTIALS,
  access: ACCESS,
  activation: ACTIVATION,
  failure: { initialMs: 30_000, factor: 2, maxMs: 15 * MINUTE_MS },
};

/** A failed call pauses the filing; one that succeeded ends the pause. */
export async function storePause(
  client: Queryable,
  filing: LockedFiling,
  { failure, called }: { failure: CallFailure | null; called: Next['do'] | null },
): Promise<void> {
  if (called === null || called === 'wait') return;
  if (failure === null) return endPause(client, filing);
  const reason: PauseReason = pauseReasonOf(failure.kind) ?? 'failure';
  const tries = filing.pause === reason ? filing.pauseTries + 1 : 1;
  const { rows } = await client.query<Pick<LockedFiling, 'pauseUntil'>>(
    `UPDATE filings f SET pause = $2, pause_tries = $3, pause_text = $4, credentials_seen = $5, pause_until = greatest(
        clock_timestamp() + $6 * interval '1 ms',
        CASE WHEN $2 = 'activation' THEN (SELECT activates_at + interval '1 s' FROM exporters e WHERE e.exporter_id = f.exporter_id) END)
      WHERE filing_id = $1 RETURNING floor(extract(epoch FROM pause_until) * 1000)::float8 AS "pauseUntil"`,
    [
      filing.filingId,
      reason,
      tries,
      pauseText(reason, filing, failure),
      failure.credentialsVersion ?? 0,
      delayMs(SCHEDULES[reason], tries),
    ],
  );
  Object.assign(filing, {
    pause: reason,
    pauseTries: tries,
    pauseText: pauseText(reason, filing, failure),
    ...rows[0],
  });
  if (tries === 1) await addEvent(client, filing, { kind: failure.kind ?? 'call_failed', text: failure.message });
}

function pauseText(reason: PauseReason, { exporterId }: LockedFiling, { message }: CallFailure): string {
  const said = /[.!?]$/u.test(message) ? message : `${message}.`;
  if (reason === 'credentials')
    return `${said} Submit working credentials: ebrc credentials ${exporterId} --username … --password-stdin, once for all of its filings. They continue by themselves.`;
  if (reason === 'access')
    return `${said} This is about our own API key or agreement: check EBRC_API_KEY and the agreements in the service's console. It is tried again by itself.`;
  return reason === 'activation' ? 'The authority has not opened API access for the exporter yet.' : said;
}

/** A call succeeded: the filing pauses no longer. */
export async function endPause(client: Queryable, filing: LockedFiling): Promise<void> {
  if (filing.pause === null) return;
  await client.query(
    'UPDATE filings SET pause = NULL, pause_until = NULL, pause_tries = 0, pause_text = NULL, credentials_seen = NULL WHERE filing_id = $1',
    [filing.filingId],
  );
  Object.assign(filing, { pause: null, pauseUntil: null, pauseTries: 0, pauseText: null, credentialsSeen: null });
}
