import { Context } from '@temporalio/activity';
import type { CallContext } from '../api/client-types';

/**
 * The context of one API call from an activity: it heartbeats while it waits for its budget slot and while the call is
 * under way, so that a lost worker is noticed in seconds and a waiting one is not taken for lost.
 */
export async function withHeartbeat<T>(exporterId: string, call: (context: CallContext) => Promise<T>): Promise<T> {
  const { info, heartbeat, cancellationSignal } = Context.current();
  const beat = setInterval(() => heartbeat(), heartbeatEveryMs(info.heartbeatTimeoutMs));
  try {
    return await call({
      signal: cancellationSignal,
      exporterId,
      attempt: info.attempt,
      onWaiting: (ahead) => heartbeat({ waiting: true, ahead }),
    });
  } finally {
    clearInterval(beat);
  }
}

function heartbeatEveryMs(timeoutMs: number | undefined): number {
  return Math.max(250, Math.min(5_000, (timeoutMs ?? 30_000) / 4));
}
