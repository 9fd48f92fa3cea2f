/**
 * `npm run fuzz [-- SECONDS]`: Schemathesis reads /v1/openapi.json of a running HTTP API and sends what it allows and
 * what it does not: no answer may be a 5xx, or outside its description. Without Python it is skipped.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { STATE, toolOfPyPI, run, runTool } from './tools';
import { EXPORTER, openFiledStack } from './filed-stack';

const SCHEMATHESIS = 'schemathesis==4.32.5';
const FOLDER = join(STATE, 'fuzz');
const REFERENCE = 'FUZZ/1';
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];

async function fuzz(seconds: number): Promise<number> {
  const program = await toolOfPyPI(SCHEMATHESIS, 'schemathesis');
  if (program === null) return 0;
  const { local, token, ebrc } = await openFiledStack(FOLDER, REFERENCE);
  try {
    const [certificate] = JSON.parse(await ebrc(['certificates'])) as { eBRCNumber: string }[];
    const number = certificate?.eBRCNumber ?? '';
    const args = [
      ...['run', `${local.door.url}/v1/openapi.json`, '--header', `Authorization: Bearer ${token}`],
      ...['--checks', CHECKS.join(',')],
      ...['--phases', 'coverage,fuzzing', '--max-time', String(Math.ceil(seconds / 2)), '--continue-on-failure'],
      ...['--suppress-health-check', 'all', '--no-color', '--request-timeout', '110'],
    ];
    // Half of the time for any names, and half for those that exist.
    const known = `[parameters]\nexporter = "${EXPORTER}"\nfiling = "${REFERENCE}"\nnumber = "${number}"\n`;
    await Promise.all([writeFile(join(FOLDER, 'any.toml'), ''), writeFile(join(FOLDER, 'known.toml'), known)]);
    const codes = [];
    for (const config of ['known.toml', 'any.toml']) {
      codes.push(
        await Promise.race([run(program, ['--config-file', join(FOLDER, config), ...args], FOLDER), local.failed]),
      );
    }
    return codes.every((code) => code === 0) ? 0 : 1;
  } finally {
    await local.stop();
  }
}

runTool(() => fuzz(Number(process.argv[2] ?? 60)));
