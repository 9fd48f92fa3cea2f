/**
 * `npm run clients`: kept generators make clients of /v1/openapi.json, in TypeScript, Python, Go and Java; each has to
 * compile, file an invoice, wait for its certificate, and be told an error; and the stock libraries of npm, PyPI and Go
 * have to verify a webhook that was received. A language whose tools are missing is skipped.
 */
import { once } from 'node:events';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { demoInvoice } from '../demo-message';
import { EXPORTER, openFiledStack, type FiledStack } from './filed-stack';
import { run, runTool, say, STATE, toolOfPyPI } from './tools';

const FOLDER = join(STATE, 'clients');
const MADE = join(STATE, 'generated-clients');
/** Programs of other languages, and how they are built. */
const SOURCES = join(__dirname, 'clients');
const DESCRIPTION = join(__dirname, '..', '..', 'schemas', 'openapi.json');
const TSC = join(__dirname, '..', '..', 'node_modules', 'typescript', 'bin', 'tsc');

const GENERATORS = {
  npm: ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'standardwebhooks@1.1.1'],
  pypi: 'openapi-python-client==0.26.2',
  go: 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2',
};
const WEBHOOKS_OF_PYPI = 'standardwebhooks==1.1.0';
const MODULES_OF_GO = [
  'github.com/oapi-codegen/runtime@v1.9.0',
  'github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1',
];

/** Arguments of all: address, token, exporter, reference, file with the message, file with a received webhook. */
const IN_TYPESCRIPT = `import createClient from 'openapi-fetch';
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import type { components, paths } from './api';

async function main([baseUrl = '', token = '', exporter = '', reference = '', file = '', received = '']: string[]) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\`, prefer: 'wait=60' } });
  const message = JSON.parse(readFileSync(file, 'utf8')) as components['schemas']['PushMessage'];
  const { data, error } = await client.POST('/v1/filings', { body: { exporter, reference, message } });
  if (!data) throw new Error(error.detail);
  if (data.state !== 'certified') throw new Error(data.stateText);
  const rows = await client.GET('/v1/filings/{filing}/rows', { params: { path: { filing: reference } } });
  const number: string | null | undefined = rows.data?.items[0]?.eBRCNumber;
  const unknown = await client.GET('/v1/filings/{filing}', { params: { path: { filing: 'NONE' } } });
  if (unknown.error?.code !== 'unknown_filing') throw new Error('an unknown filing was answered');
  const { secret, body, headers } = JSON.parse(readFileSync(received, 'utf8'));
  new Webhook(secret).verify(body, headers);
  console.log(reference, data.state, number, 'webhook verified');
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
from standardwebhooks.webhooks import Webhook

url, token, exporter, reference, path, received = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, timeout=90, headers={"prefer": "wait=60"})
message = PushMessage.from_dict(json.load(open(path)))
filed = file.sync(client=client, body=FileRequest(exporter=exporter, reference=reference, message=message))
assert filed.state == "certified", filed
rows = list_rows.sync(filing=reference, client=client)
assert get_filing.sync(filing="NONE", client=client).code == "unknown_filing"
hook = json.load(open(received))
Webhook(hook["secret"]).verify(hook["body"], hook["headers"])
print(reference, filed.state, rows.items[0].e_brc_number, "webhook verified")
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
  const quietly = ['--quiet', '--disable-pip-version-check'];
  await step('installing of PyPI', python, ['-m', 'pip', 'install', ...quietly, WEBHOOKS_OF_PYPI], cwd);
  await step('Python: compiling', python, ['-m', 'compileall', '-q', 'ebrc_api'], cwd);
  await writeFile(join(cwd, 'client.py'), IN_PYTHON);
  return [python, ['client.py'], cwd];
}

/** Whether a program is there, with the arguments that make it print its version. */
async function has(command: string, ...args: string[]): Promise<boolean> {
  const isThere = (await run(command, args).catch(() => null)) === 0;
  if (!isThere) say(`skipped: there is no ${command}`);
  return isThere;
}

async function makeGo(): Promise<Client | null> {
  if (!(await has('go', 'version'))) return null;
  const cwd = join(MADE, 'go');
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, 'go.mod'), 'module client\n\ngo 1.21\n');
  const into = ['-generate', 'types,client', '-package', 'main', '-o', 'api.gen.go'];
  await step('Go: generating', 'go', ['run', GENERATORS.go, ...into, DESCRIPTION], cwd);
  await copyFile(join(SOURCES, 'client.go'), join(cwd, 'client.go'));
  await step('installing modules of Go', 'go', ['get', ...MODULES_OF_GO], cwd);
  await step('Go: compiling', 'go', ['build', '-o', 'client', '.'], cwd);
  return [join(cwd, 'client'), [], cwd];
}

async function makeJava(): Promise<Client | null> {
  if (!(await has('mvn', '--version')) || !(await has('java', '--version'))) return null;
  const cwd = join(MADE, 'java');
  const sources = join(cwd, 'src', 'main', 'java');
  await mkdir(sources, { recursive: true });
  await copyFile(join(SOURCES, 'pom.xml'), join(cwd, 'pom.xml'));
  await copyFile(join(SOURCES, 'Client.java'), join(sources, 'Client.java'));
  const build = ['compile', 'dependency:copy-dependencies', '-DoutputDirectory=target/lib', `-Dspec=${DESCRIPTION}`];
  await step('Java: generating and compiling', 'mvn', ['--quiet', '--batch-mode', ...build], cwd);
  return ['java', ['-cp', ['target/classes', 'target/lib/*'].join(delimiter), 'Client'], cwd];
}

/** Adds an endpoint, has it sent a test, and keeps what came. @returns the file */
async function receiveWebhook({ local, token }: FiledStack): Promise<string> {
  let received: object = {};
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received = { headers: request.headers, body };
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ask = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const url = `${local.httpApi.url}/v1/webhooks${path}`;
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as { webhookId: string; secret: string; state: string };
  };
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { webhookId, secret } = await ask('', { url });
    const { state } = await ask(`/${webhookId}/test`, {});
    if (state !== 'delivered') throw new Error(`the test of a webhook is ${state}`);
    const file = join(FOLDER, 'webhook.json');
    await writeFile(file, JSON.stringify({ secret, ...received }));
    return file;
  } finally {
    server.close();
  }
}

async function tryClients(): Promise<number> {
  const clients = {
    ...{ TypeScript: await makeTypescript(), Python: await makePython() },
    ...{ Go: await makeGo(), Java: await makeJava() },
  };
  const stack = await openFiledStack(FOLDER, 'CLIENTS-1');
  const { local, token, irms } = stack;
  try {
    for (const [name, client] of Object.entries(clients)) {
      if (client === null) continue;
      const [command, args, cwd] = client;
      const file = join(FOLDER, `${name}.json`);
      await writeFile(file, JSON.stringify(demoInvoice(irms, `KVR/${name}`)));
      // Fresh for each: what was signed more than five minutes ago is refused.
      const received = await receiveWebhook(stack);
      const what = [local.httpApi.url, token, EXPORTER, `CLIENT-${name}`, file, received];
      await step(`${name}: filing`, command, [...args, ...what], cwd);
    }
    return 0;
  } finally {
    await local.stop();
  }
}

runTool(tryClients);
