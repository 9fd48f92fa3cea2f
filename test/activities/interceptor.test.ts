import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { adviceOf, FailureInterceptor } from '../../src/activities/interceptor';
import { decide } from '../../src/domain/service/retry-table';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { createProgress, keepTrying, withHeartbeat, withStepHeartbeat } from '../../src/activities/call-context';
import type { CallContext } from '../../src/api/http/call';

import pino from 'pino';

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

describe('the context of a call', () => {
  describe('a write that must not be lost', () => {
    const failing = (error: Error, until = Infinity) => {
      let tries = 0;
      const write = () => ((tries += 1) < until ? Promise.reject(error) : Promise.resolve());
      return { write, tries: () => tries };
    };

    it('is repeated for as long as PostgreSQL is away', async () => {
      const { write, tries } = failing(new LedgerUnavailableError('57P01', false, new Error('restarting')), 6);
      await keepTrying(write, () => undefined);
      expect(tries()).toBe(6);
    });

    it('is given up where a defect does not pass', async () => {
      const { write, tries } = failing(new TypeError('a defect'));
      const failures: unknown[] = [];
      await expect(keepTrying(write, (error) => failures.push(error))).rejects.toThrow('a defect');
      expect([tries(), failures.length]).toEqual([5, 5]);
    });
  });

  describe('what a heartbeat means', () => {
    it('is that the last step began no longer ago than it may take', () => {
      let now = 0;
      const { isAlive, step } = createProgress(() => now);
      const aliveAt = (seconds: number) => ((now = seconds * 1_000), isAlive());
      expect([aliveAt(59), aliveAt(60)]).toEqual([true, false]);
      // A look at the budget: it waits its turn, for as long as it looks again.
      step();
      expect([aliveAt(149), aliveAt(151)]).toEqual([true, false]);
      // A call of at most five minutes.
      step(300_000);
      expect([aliveAt(480), aliveAt(482)]).toEqual([true, false]);
    });

    it('beats while a call waits and while it is made', async () => {
      const env = new MockActivityEnvironment({ heartbeatTimeoutMs: 1_000 });
      const beats: unknown[] = [];
      env.on('heartbeat', (details: unknown) => beats.push(details));
      await env.run(() =>
        withHeartbeat('exporter', async ({ onWaiting, onStarted }: CallContext) => {
          onWaiting?.(3);
          onStarted?.(60_000);
          await new Promise((resolve) => setTimeout(resolve, 600));
        }),
      );
      expect(beats[0]).toEqual({ waiting: true, ahead: 3 });
      expect(beats.length).toBeGreaterThan(1);
    });

    it('beats while a large step on the ledger is made', async () => {
      const env = new MockActivityEnvironment({ heartbeatTimeoutMs: 1_000 });
      let beats = 0;
      const beaten = new Promise<void>((resolve) => env.on('heartbeat', () => (beats += 1) > 1 && resolve()));
      await env.run(() => withStepHeartbeat(() => beaten));
      expect(beats).toBe(2);
    });
  });
});
