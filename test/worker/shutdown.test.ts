import { once } from '../../src/domain/values';
import { runAll, shutdownTimes, succeedsWithin } from '../../src/worker/lifecycle';

/** A worker that runs until it is told to stop, or fails when it is told to. */
function worker() {
  let end: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const running = new Promise<void>((resolve, reject) => ([end, fail] = [resolve, reject]));
  return { run: () => running, end: () => end(), fail: (error: Error) => fail(error) };
}

const never = new Promise<void>(() => undefined);
const soon = () => new Promise<'not yet'>((resolve) => setTimeout(resolve, 30, 'not yet'));

describe('runAll', () => {
  it('stops the others when one fails, waits until they have finished, and fails with its error', async () => {
    const [first, second] = [worker(), worker()];
    let stopped = 0;
    const running = runAll(
      [first, second],
      once(() => Promise.resolve(void (stopped += 1))),
    ).catch((error: unknown) => error);
    first.fail(new Error('the namespace is gone'));
    // The other one has a call under way: it is not cut off.
    expect(await Promise.race([running, soon()])).toBe('not yet');
    expect(stopped).toBe(1);
    second.end();
    expect(await running).toEqual(new Error('the namespace is gone'));
    expect(stopped).toBe(1);
  });

  it('ends well when all were stopped in order', async () => {
    const [first, second] = [worker(), worker()];
    const running = runAll([first, second], () => Promise.resolve());
    first.end();
    second.end();
    await expect(running).resolves.toBeUndefined();
  });
});

it('bounds a wait, whatever becomes of the work', async () => {
  expect(await succeedsWithin(20, never)).toBe(false);
  expect(await succeedsWithin(60_000, Promise.resolve())).toBe(true);
  expect(await succeedsWithin(60_000, Promise.reject(new Error('not in order')))).toBe(false);
});

it('gives the longest call its time before anything is given up, and has an end', () => {
  const { graceMs, forceMs, boundMs } = shutdownTimes(60_000);
  expect(graceMs).toBeGreaterThan(2 * 60_000);
  expect(forceMs).toBeGreaterThan(graceMs);
  expect(boundMs).toBeGreaterThan(forceMs);
});
