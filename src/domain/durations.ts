const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The form of a duration, for error messages. */
export const DURATION_FORM = 'a number with ms, s, m, h or d, such as 90s or 1.5h';

/** Milliseconds of `250ms`, `90s`, `10m`, `1.5h` or `2d`; null for any other text. Whole milliseconds, rounded. */
export function parseDuration(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim());
  if (!found) return null;
  const ms = Math.round(Number(found[1]) * UNIT_MS[found[2] as keyof typeof UNIT_MS]);
  return Number.isSafeInteger(ms) ? ms : null;
}

/** The shortest form of a duration: `90s`, `10m`, `250ms`. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms !== 0 && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`;
  }
  return `${ms}ms`;
}
