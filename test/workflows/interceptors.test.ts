import type { LocalActivityInput, WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';
import { interceptors } from '../../src/workflows/interceptors';
import { bundleParts } from '../../src/worker/workflows-bundle';

type Schedule = NonNullable<WorkflowOutboundCallsInterceptor['scheduleLocalActivity']>;

it('makes the local steps of a workflow one at a time, also after one that fails', async () => {
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const next = (({ activityType }: LocalActivityInput) => {
    begun.push(activityType);
    return new Promise((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve(activityType))));
  }) as Parameters<Schedule>[1];
  const [outbound] = interceptors().outbound ?? [];
  const make = (activityType: string) =>
    outbound?.scheduleLocalActivity?.({ activityType } as unknown as LocalActivityInput, next);
  const made = ['first', 'second', 'third'].map(make);
  const failed = expect(made[0]).rejects.toThrow('lost');
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  await turn();
  expect(begun).toEqual(['first']);
  ends[0]?.(new Error('lost'));
  await failed;
  await turn();
  expect(begun).toEqual(['first', 'second']);
  ends[1]?.();
  expect(await made[1]).toBe('second');
  await turn();
  expect(begun).toEqual(['first', 'second', 'third']);
  ends[2]?.();
  expect(await made[2]).toBe('third');
});

it.each([true, false])('is in the bundle of every worker (traced: %s)', (traced) => {
  expect(bundleParts({ encrypted: false, traced }).workflowInterceptorModules).toContain(
    require.resolve('../../src/workflows/interceptors'),
  );
});
