/**
 * `npm run fuzz [-- SECONDS]`: Schemathesis reads /v1/openapi.json of a running HTTP API and sends what it allows and
 * what it does not, as a principal that may everything and as one of another exporter: no answer may be a 5xx, or
 * outside its description. Without Python it is skipped.
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
  const { local, token, scoped, ebrc } = await openFiledStack(FOLDER, REFERENCE);
  try {
    const [certificate] = JSON.parse(await ebrc(['certificates'])) as { eBRCNumber: string }[];
    const number = certificate?.eBRCNumber ?? '';
    const args = [
      ...['run', `${local.httpApi.url}/v1/openapi.json`, '--checks', CHECKS.join(',')],
      ...['--phases', 'coverage,fuzzing', '--max-time', String(Math.ceil(seconds / 4)), '--continue-on-failure'],
      ...['--suppress-health-check', 'all', '--no-color', '--request-timeout', '110'],
    ];
    // Half of the time for any names, and half for those that exist.
    const known = `[parameters]\nexporter = "${EXPORTER}"\nfiling = "${REFERENCE}"\nnumber = "${number}"\n`;
    await Promise.all([writeFile(join(FOLDER, 'any.toml'), ''), writeFile(join(FOLDER, 'known.toml'), known)]);
    const codes = [];
    for (const config of ['known.toml', 'any.toml']) {
      for (const each of [token, scoped]) {
        const given = ['--config-file', join(FOLDER, config), ...args, '--header', `Authorization: Bearer ${each}`];
        codes.push(await Promise.race([run(program, given, FOLDER), local.failed]));
      }
    }
    return codes.every((code) => code === 0) ? 0 : 1;
  } finally {
    await local.stop();
  }
}

runTool(() => fuzz(Number(process.argv[2] ?? 60)));
