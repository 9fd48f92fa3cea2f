const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: '',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};
/** Fields that a person at a terminal does not need. */
const LEFT_OUT = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err', 'traceId', 'spanId', 'runId']);

/** A line of our JSON logs for people: `13:34:50 filing recorded  filingId=F1 outcome=opened`; others as they are. */
export function logLine(json: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { level, time, msg, err } = record;
  const details = Object.entries(record)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const reason = (err as { message?: unknown } | undefined)?.message;
  const text = [LEVELS[Number(level)] ?? '', msg, typeof reason === 'string' && reason !== msg ? `(${reason})` : ''];
  const line = [new Date(Number(time)).toTimeString().slice(0, 8), ...text].filter(Boolean).join(' ');
  return [line, details.join(' ')].filter(Boolean).join('  ');
}
