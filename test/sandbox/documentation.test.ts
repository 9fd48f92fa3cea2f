import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EFFECT_FAULTS, OPERATIONS, TRANSPORT_FAULTS } from '../../src/sandbox/faults/fault-schema';
import { DEFAULT_SEED } from '../../src/sandbox/authority/default-seed';
import { loadSeed, type Seed } from '../../src/sandbox/authority/seed';

const page = readFileSync(join(__dirname, '../../docs/sandbox.md'), 'utf8');

test('the seed that the page shows is one', () => {
  const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  const seed = loadSeed(JSON.parse(example) as Seed);
  expect(seed.accounts?.[0]?.irms).toHaveLength(1);
  expect(seed.faults).toHaveLength(1);
});

test.each([...OPERATIONS, ...TRANSPORT_FAULTS, ...EFFECT_FAULTS])('the page names %s', (word) => {
  expect(page).toContain(`\`${word}\``);
});

test.each(DEFAULT_SEED.accounts)('the page lists the account $username with its password', (account) => {
  expect(page).toContain(`| \`${account.username}\` | \`${account.password}\` | \`${account.iec}\` |`);
});
