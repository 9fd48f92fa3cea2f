import { MockActivityEnvironment } from '@temporalio/testing';
import { createProgress, keepTrying, withHeartbeat, withStepHeartbeat } from '../../src/activities/call-context';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import type { CallContext } from '../../src/api/http/call';

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
