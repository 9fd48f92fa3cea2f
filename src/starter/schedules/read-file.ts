import { z } from 'zod';
import { readYamlFile } from '../yaml-file';

const duration = z.string().regex(/^\d+(ms|s|m|h|d)$/u, 'a duration is a number with ms, s, m, h or d');

const schedule = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,60}$/u, 'an id has small letters, digits and hyphens'),
  workflowType: z.enum(['refreshIrms', 'reconcile', 'dailyReport', 'maintainLedger']),
  cron: z.string().regex(/^\S+( \S+){4}$/u, 'five parts: minute hour day-of-month month day-of-week'),
  input: z.record(z.string(), z.unknown()).default({}),
  overlap: z.enum(['skip', 'buffer-one', 'allow']).default('skip'),
  catchupWindow: duration.default('1h'),
  jitter: duration.default('0s'),
  timezone: z.string().optional(),
});

const scheduleFile = z.strictObject({
  timezone: z.string().default('Asia/Kolkata'),
  schedules: z.array(schedule),
});

/** One schedule of the file, with all defaults filled in. */
export type PlannedSchedule = Required<z.output<typeof schedule>>;

/**
 * Reads a file of schedules (YAML).
 * @throws UsageError that names the file and the line of every problem
 */
export async function readScheduleFile(path: string): Promise<PlannedSchedule[]> {
  const { value, lineOf, fail } = await readYamlFile(path, {
    what: 'schedules',
    advice: 'Set EBRC_SCHEDULES to the file.',
  });
  const parsed = scheduleFile.safeParse(value);
  if (!parsed.success) {
    return fail(
      parsed.error.issues.map(({ path: at, message }) => `${lineOf(at.slice(0, -1))}${at.join('.')}: ${message}`),
    );
  }
  const { schedules, timezone } = parsed.data;
  const doubled = schedules.filter(({ id }, index) => schedules.findIndex((each) => each.id === id) !== index);
  if (doubled.length > 0) fail(doubled.map(({ id }) => `id ${id} is used twice`));
  return schedules.map((each) => ({ ...each, timezone: each.timezone ?? timezone }));
}
