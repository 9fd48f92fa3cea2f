/**
 * `npm run clients`: kept generators make clients of /v1/openapi.json, in TypeScript and Python; each has to compile,
 * file an invoice, wait for its certificate, and be told an error. Without Python that one is skipped.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoInvoice } from '../demo-message';
import { EXPORTER, openFiledStack } from './filed-stack';
import { run, runTool, say, STATE, toolOfPyPI } from './tools';

const FOLDER = join(STATE, 'clients');
const MADE = join(STATE, 'generated-clients');
const DESCRIPTION = join(__dirname, '..', '..', 'schemas', 'openapi.json');
const TSC = join(__dirname, '..', '..', 'node_modules', 'typescript', 'bin', 'tsc');

const GENERATORS = {
  npm: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0'],
  pypi: 'openapi-python-client==0.26.2',
};

/** Arguments of both: address, token, exporter, reference, file with the message. */
const IN_TYPESCRIPT = `import createClient from 'openapi-fetch';
import { readFileSync } from 'node:fs';
import type { components, paths } from './api';

async function main([baseUrl = '', token = '', exporter = '', reference = '', file = '']: string[]) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\`, prefer: 'wait=60' } });
  const message = JSON.parse(readFileSync(file, 'utf8')) as components['schemas']['PushMessage'];
  const { data, error } = await client.POST('/v1/filings', { body: { exporter, reference, message } });
  if (!data) throw new Error(error.detail);
  if (data.state !== 'certified') throw new Error(data.stateText);
  const rows = await client.GET('/v1/filings/{filing}/rows', { params: { path: { filing: reference } } });
  const number: string | null | undefined = rows.data?.items[0]?.eBRCNumber;
  const unknown = await client.GET('/v1/filings/{filing}', { params: { path: { filing: 'NONE' } } });
  if (unknown.error?.code !== 'unknown_filing') throw new Error('an unknown filing was answered');
  console.log(reference, data.state, number);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
`;

const IN_PYTHON = `import json, sys
from ebrc_api import AuthenticatedClient
from ebrc_api.api.filings import file, get_filing, list_rows
from ebrc_api.models import FileRequest, PushMessage

url, token, exporter, reference, path = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, timeout=90, headers={"prefer": "wait=60"})
message = PushMessage.from_dict(json.load(open(path)))
filed = file.sync(client=client, body=FileRequest(exporter=exporter, reference=reference, message=message))
assert filed.state == "certified", filed
rows = list_rows.sync(filing=reference, client=client)
assert get_filing.sync(filing="NONE", client=client).code == "unknown_filing"
print(reference, filed.state, rows.items[0].e_brc_number)
`;

/** @throws Error naming the step that failed */
async function step(what: string, command: string, args: readonly string[], cwd: string): Promise<void> {
  say(what);
  if ((await run(command, args, cwd)) !== 0) throw new Error(`failed: ${what}`);
}

type Client = [command: string, args: string[], cwd: string];

async function makeTypescript(): Promise<Client> {
  const cwd = join(MADE, 'typescript');
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, 'package.json'), JSON.stringify({ private: true }));
  const quietly = ['--no-audit', '--no-fund', '--silent'];
  await step('installing generators of npm', 'npm', ['install', ...quietly, ...GENERATORS.npm], cwd);
  await step('TypeScript: generating', 'npx', ['openapi-typescript', DESCRIPTION, '-o', 'api.ts'], cwd);
  await writeFile(join(cwd, 'client.ts'), IN_TYPESCRIPT);
  const options = ['--strict', '--module', 'node16', '--moduleResolution', 'node16', '--target', 'es2022'];
  const types = ['--typeRoots', join(TSC, '..', '..', '..', '@types'), '--types', 'node'];
  await step('TypeScript: compiling', process.execPath, [TSC, ...options, ...types, 'client.ts'], cwd);
  return [process.execPath, ['client.js'], cwd];
}

async function makePython(): Promise<Client | null> {
  const generator = await toolOfPyPI(GENERATORS.pypi, 'openapi-python-client');
  if (generator === null) return null;
  const cwd = join(MADE, 'python');
  await mkdir(cwd, { recursive: true });
  const binary = ['pdf', 'zip', 'vnd.openxmlformats-officedocument.spreadsheetml.sheet'];
  const overrides = Object.fromEntries(binary.map((type) => [`application/${type}`, 'application/octet-stream']));
  await writeFile(join(cwd, 'config.json'), JSON.stringify({ content_type_overrides: overrides, post_hooks: [] }));
  const into = ['--meta', 'none', '--output-path', 'ebrc_api', '--overwrite', '--config', 'config.json'];
  const from = ['generate', '--path', DESCRIPTION, '--fail-on-warning'];
  await step('Python: generating', generator, [...from, ...into], cwd);
  const python = join(generator, '..', 'python');
  await step('Python: compiling', python, ['-m', 'compileall', '-q', 'ebrc_api'], cwd);
  await writeFile(join(cwd, 'client.py'), IN_PYTHON);
  return [python, ['client.py'], cwd];
}

async function tryClients(): Promise<number> {
  const clients = { TypeScript: await makeTypescript(), Python: await makePython() };
  const { local, token, irms } = await openFiledStack(FOLDER, 'CLIENTS-1');
  try {
    for (const [name, client] of Object.entries(clients)) {
      if (client === null) continue;
      const [command, args, cwd] = client;
      const file = join(FOLDER, `${name}.json`);
      await writeFile(file, JSON.stringify(demoInvoice(irms, `KVR/${name}`)));
      await step(
        `${name}: filing`,
        command,
        [...args, local.httpApi.url, token, EXPORTER, `CLIENT-${name}`, file],
        cwd,
      );
    }
    return 0;
  } finally {
    await local.stop();
  }
}

runTool(tryClients);
