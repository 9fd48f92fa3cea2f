import { MockActivityEnvironment } from '@temporalio/testing';
import { createProgress, withHeartbeat, withStepHeartbeat } from '../../src/activities/call-context';
import type { CallContext } from '../../src/api/http/call';

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
