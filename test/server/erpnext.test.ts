/** The connector of examples/erpnext, against recorded answers that still are answers of the HTTP API. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import description from '../../schemas/openapi.json';
import { cleanEnvironment } from '../support/command-line';

const run = promisify(execFile);
const FOLDER = join(__dirname, '..', '..', 'examples', 'erpnext');

interface Exchange {
  method: string;
  path: string;
  sent: unknown;
  status: number;
  answer: unknown;
}
type Content = Record<string, { schema: object }>;
interface Operation {
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}

const recorded = JSON.parse(readFileSync(join(FOLDER, 'recorded.json'), 'utf8')) as Record<string, Exchange[]>;
const paths = description.paths as unknown as Record<string, Record<string, Operation>>;
const validator = addFormats(new Ajv2020({ strict: false })).addSchema({ ...description, $id: 'urn:ebrc:openapi' });

/** What the description says of a path that was asked for. */
function described({ method, path }: Exchange): Operation {
  const [address = ''] = path.split('?');
  const [, methods] =
    Object.entries(paths).find(([known]) =>
      new RegExp(`^${known.replace(/\{\w+\}/gu, '[^/]+')}$`, 'u').test(address),
    ) ?? [];
  return methods![method.toLowerCase()]!;
}

/** A schema of the description, whose references are those of the whole. */
const inDescription = (schema: object) =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"urn:ebrc:openapi#/')) as object;

it.each(Object.entries(recorded))('has answers of today’s HTTP API: %s', (_name, exchanges) => {
  for (const exchange of exchanges) {
    const { requestBody, responses } = described(exchange);
    const { content = {} } = responses[exchange.status] ?? responses['default']!;
    const [[type, { schema }] = ['', { schema: {} }]] = Object.entries(content);
    if (exchange.sent) expect(valid(requestBody!.content['application/json']!.schema, exchange.sent)).toBeNull();
    if (type.includes('json')) expect(valid(schema, exchange.answer)).toBeNull();
  }
});

function valid(schema: object, value: unknown): unknown {
  const validate = validator.compile(inDescription(schema));
  return validate(value) ? null : validate.errors;
}

it('files once, verifies webhooks, brings numbers, PDFs and attention, and says what to do', async () => {
  const env = cleanEnvironment();
  try {
    await run('python3', ['--version'], { env });
  } catch {
    process.stderr.write('The tests of examples/erpnext were not run: python3 is missing.\n');
    return;
  }
  const { stderr } = await run('python3', ['-m', 'unittest'], { cwd: FOLDER, env });
  expect(stderr).toMatch(/^Ran 1\d tests[\s\S]*^OK$/mu);
});

describe('the button', () => {
  interface Call {
    method: string;
    args: object;
    callback: (answer: { message: string }) => void;
  }
  /** What the form of a payment has and does. */
  const opened = (doc: object) => {
    const events: string[] = [];
    const calls: Call[] = [];
    const buttons: (() => void)[] = [];
    const frappe = {
      ui: { form: { on: (_: string, { refresh }: { refresh: (form: object) => void }) => refresh(form) } },
      confirm: (text: string, confirmed: () => void) => (events.push(text), confirmed()),
      call: (call: Call) => calls.push(call),
      msgprint: (text: string) => events.push(text),
      utils: { escape_html: (text: string) => text.replaceAll('<', '&lt;') },
    };
    const form = {
      doc: { name: 'PAY/7', docstatus: 1, payment_type: 'Receive', ...doc },
      add_custom_button: (_: string, clicked: () => void) => buttons.push(clicked),
      reload_doc: () => events.push('reloaded'),
    };
    runInNewContext(readFileSync(join(FOLDER, 'payment_entry.js'), 'utf8'), { frappe, __: (text: string) => text });
    return { events, calls, buttons };
  };

  it('asks for the declaration, files, and shows what came of it', () => {
    const { events, calls, buttons } = opened({});
    buttons[0]?.();
    expect(calls).toMatchObject([{ method: 'ebrc.payment_entry.file', args: { name: 'PAY/7', declared: 'Y' } }]);
    calls[0]?.callback({ message: 'Filed. <b>' });
    expect(events).toEqual([expect.stringMatching(/^You declare/u), 'Filed. &lt;b>', 'reloaded']);
  });

  it.each([{ docstatus: 0 }, { docstatus: 2 }, { payment_type: 'Pay' }])('is not there for %j', (doc) => {
    expect(opened(doc).buttons).toEqual([]);
  });
});
