/** The units for machines without containers. */
import { VARIABLES, loadConfig } from '../../src/config/config';
import { shutdownTimes } from '../../src/worker/lifecycle';
import { readProject } from './project';

const UNITS = ['ebrc-worker', 'ebrc-http-api'] as const;
const linesOf = (unit: string) => readProject(`ops/systemd/${unit}.service`).split('\n');
const valuesOf = (unit: string, key: string) =>
  linesOf(unit).flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

it.each(UNITS)('%s names variables that there are, and only secrets that it is handed', (unit) => {
  const given = valuesOf(unit, 'Environment').flatMap((line) =>
    line.split(' ').map((each) => each.split('=') as [string, string]),
  );
  for (const [name] of given) expect(Object.keys(VARIABLES)).toContain(name.replace(/_FILE$/u, ''));
  const files = given.flatMap(([, value]) => (value.startsWith('%d/') ? [value.slice(3)] : []));
  const handed = valuesOf(unit, 'LoadCredential').map((each) => each.split(':')[0]);
  expect(handed.sort()).toEqual(files.sort());
});

it('keeps the key of the service and that of passwords from the HTTP API', () => {
  expect(linesOf('ebrc-http-api').join('\n')).not.toMatch(/EBRC_API_KEY|EBRC_ENCRYPTION_KEY/u);
});

it('gives a worker the time that it takes to end', () => {
  const [seconds = '0'] = valuesOf('ebrc-worker', 'TimeoutStopSec');
  const { httpTimeoutMs } = loadConfig({}, { need: ['tuning'] });
  expect(Number(seconds) * 1_000).toBeGreaterThan(shutdownTimes(httpTimeoutMs).boundMs);
});
