/** Webhooks reach public addresses, and hosts that are named, in whatever form an address is written. */
import dns from 'node:dns';
import { urlProblem } from '../../../src/domain/webhooks';
import { refusedAddress, createWebhookSender } from '../../../src/worker/webhooks/send';
import { closeAfterAll } from '../../support/closing';
import { startReceiver } from './receiver';

const secrets = [`whsec_${Buffer.alloc(32, 1).toString('base64')}`];
const message = { messageId: 'm', body: '{}', secrets };

function sender(hosts: string[] = []) {
  const made = createWebhookSender({ hosts });
  closeAfterAll(() => made.close());
  return (url: string) => made.send(url, message, new AbortController().signal);
}
const strict = sender();

it.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '2404:6800:4009::200e'])('allows the public %s', (address) =>
  expect(refusedAddress(address)).toBeNull(),
);

it.each([
  ...[
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.9.9.9',
    '169.254.169.254',
    '172.16.0.1',
  ],
  ...['192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1', '203.0.113.1', '224.0.0.1', '240.0.0.1'],
  ...[
    '255.255.255.255',
    '168.63.129.16',
    '::',
    '::1',
    '::10.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '64:ff9b::8.8.8.8',
  ],
  ...[
    '64:ff9b:1::a00:1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
  ],
  ...['fe80::1', 'fec0::1', 'ff02::1', '4000::1', 'nonsense'],
])('refuses %s', (address) => expect(refusedAddress(address)).not.toBeNull());

it.each([
  ...['https://127.1/', 'https://0x7f.1/', 'https://0x7f000001/', 'https://2130706433/', 'https://017700000001/'],
  ...['https://[::ffff:127.0.0.1]/', 'https://[::ffff:7f00:1]/', 'https://[64:ff9b::7f00:1]/', 'https://[::1]/'],
  ...['https://169.254.169.254/latest/meta-data/', 'https://localhost/', 'https://LOCALHOST./', 'https://①②⑦.0.0.1/'],
  'http://127.0.0.1:1/',
])('sends nothing to %s', async (url) => {
  const { status, problem } = await strict(url);
  expect([status, problem]).toEqual([
    null,
    expect.stringMatching(/no public address|no answer \((ENOTFOUND|EAI_AGAIN)\)/u),
  ]);
});

it.each([
  'http://example.com/',
  'ftp://example.com/',
  'https://u:p@example.com/',
  'https://example.com/#x',
  'x',
  'file:///etc/passwd',
])('takes no %s as an address', (url) => expect(urlProblem(url)).not.toBeNull());

it('checks what a name resolves to at every connect, and connects to what it checked', async () => {
  const hook = await startReceiver();
  closeAfterAll(() => hook.close());
  const asked: string[] = [];
  let addresses = ['8.8.8.8', '10.0.0.1'];
  const lookup = jest.spyOn(dns, 'lookup').mockImplementation(((host: string, _options: unknown, done: unknown) => {
    asked.push(host);
    (done as (error: null, found: dns.LookupAddress[]) => void)(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );
  }) as never);
  const { port } = new URL(hook.url);
  // One address that is not public is enough.
  expect((await strict(`https://rebinding.example:${port}/`)).problem).toMatch(/10\.0\.0\.1.*EBRC_WEBHOOK_HOSTS/u);
  addresses = ['127.0.0.1'];
  expect((await strict(`https://rebinding.example:${port}/`)).problem).toMatch(/127\.0\.0\.1/u);
  expect(asked).toEqual(['rebinding.example', 'rebinding.example']);
  lookup.mockRestore();
  expect(hook.received).toEqual([]);
});

it('reaches a host that is named, and that one alone', async () => {
  const hook = await startReceiver();
  closeAfterAll(() => hook.close());
  expect(await sender(['127.0.0.1'])(hook.url)).toEqual({ status: 204, problem: null });
  expect((await sender(['localhost'])(hook.url)).status).toBeNull();
});
