import { z } from 'zod';
import { faultSchema, type FaultInput } from './fault-schema';

const MATCH_FIELDS = Object.keys(faultSchema.shape.match.unwrap().shape);

/**
 * Reads a fault from one command-line word: `operation:kind` and settings after further colons, such as
 * `push-irm:accept-then-drop:every=3` or `status:stale-status:irmNumber=IRM7:times=2`. Settings are those of a fault;
 * those of its `match` are named without it.
 * @throws Error that says what is wrong with the word.
 */
export function parseFaultFlag(word: string): FaultInput {
  const [operation, kind, ...settings] = word.split(':');
  const match: Record<string, string> = {};
  const fault: Record<string, unknown> = { operation, kind, match };
  for (const setting of settings) {
    const [name = '', value] = splitOnce(setting);
    if (value === undefined) throw new Error(`${word}: "${setting}" should be name=value`);
    if (MATCH_FIELDS.includes(name)) match[name] = value;
    else fault[name] = plainValue(value);
  }
  const parsed = faultSchema.safeParse(fault);
  if (!parsed.success) throw new Error(`${word} is not a fault:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function splitOnce(setting: string): [string, string?] {
  const at = setting.indexOf('=');
  return at < 0 ? [setting] : [setting.slice(0, at), setting.slice(at + 1)];
}

function plainValue(value: string): string | number | boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  return /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}
