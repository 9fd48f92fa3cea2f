import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { adviceOf, FailureInterceptor } from '../../src/activities/interceptor';
import { decide } from '../../src/domain/service/retry-table';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';

const MINUTE = 60_000;
const production = { rateWindowMs: MINUTE, pollMinMs: 2 * MINUTE, pollMaxMs: 15 * MINUTE };
const notReady = decide('downloadPdf', 'certificate_not_ready');

/** The delays after the given attempts, in ms. */
const delays = (settings: typeof production, ...attempts: number[]) =>
  attempts.map((attempt) => adviceOf(notReady, attempt, settings).nextDelayMs);

describe('a certificate that is not there yet', () => {
  it('is asked for after 2 minutes growing to 30 by default', () => {
    expect(delays(production, 1, 2, 20)).toEqual([2 * MINUTE, 4 * MINUTE, 30 * MINUTE]);
  });

  it('is asked for as often as the operator polls', () => {
    expect(delays({ ...production, pollMinMs: 500, pollMaxMs: 3_000 }, 1, 2, 20)).toEqual([500, 1_000, 6_000]);
  });

  it('is not asked for more seldom because requests are polled more seldom', () => {
    expect(delays({ ...production, pollMinMs: 60 * MINUTE, pollMaxMs: 600 * MINUTE }, 1, 20)).toEqual([
      2 * MINUTE,
      30 * MINUTE,
    ]);
  });
});

it('waits a rate window after a 429, whatever the polling', () => {
  const advice = adviceOf(decide('downloadPdf', 'rate_limited'), 3, { ...production, rateWindowMs: 2_000 });
  expect(advice).toEqual({ retry: true, nextDelayMs: 2_000, benign: true });
});

describe('a database that is not itself', () => {
  const failing = (attempt: number): Promise<unknown> =>
    new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR', () => undefined) })
      .run(() =>
        new FailureInterceptor({ logger: pino({ level: 'silent' }), settings: production }).execute(
          { args: [], headers: {} },
          () => Promise.reject(new LedgerUnavailableError('25006', false, new Error('read-only transaction'))),
        ),
      )
      .catch((error: unknown) => error);

  it('is one kind, repeated on the schedule of whatever needs it', async () => {
    const failure = await failing(1);
    expect(failure).toMatchObject({ type: 'ledger_unavailable', nonRetryable: false, nextRetryDelay: undefined });
  });

  it('makes a poll of many attempts wait no longer than half a minute', async () => {
    expect(await failing(40)).toMatchObject({ type: 'ledger_unavailable', nextRetryDelay: 30_000 });
  });
});
