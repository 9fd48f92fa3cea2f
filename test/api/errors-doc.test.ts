import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ERROR_KIND_NAMES } from '../../src/domain/service/error-kinds';
import { OPERATION_NAMES, OPERATIONS } from '../../src/domain/service/operations';
import { decide } from '../../src/domain/service/retry-table';
import { renderErrors } from './support/errors-doc';

const FILE = join(__dirname, '../../docs/errors.md');
const START = '<!-- tables: start -->';
const END = '<!-- tables: end -->';

test('docs/errors.md agrees with the code (UPDATE_DOCS=1 rewrites it)', async () => {
  const document = await readFile(FILE, 'utf8');
  const start = document.indexOf(START);
  const end = document.indexOf(END);
  expect(start).toBeGreaterThan(0);
  expect(end).toBeGreaterThan(start);
  const expected = `${document.slice(0, start)}${START}\n\n${renderErrors()}\n\n${document.slice(end)}`;
  if (process.env.UPDATE_DOCS === '1') await writeFile(FILE, expected);
  else expect(document).toBe(expected);
});

describe('the retry table', () => {
  const submissions = OPERATION_NAMES.filter((operation) => OPERATIONS[operation].submits);
  const reads = OPERATION_NAMES.filter((operation) => !OPERATIONS[operation].submits);

  test('never lets Temporal repeat a submission', () => {
    for (const operation of submissions) {
      for (const kind of ERROR_KIND_NAMES) expect([kind, decide(operation, kind).action]).not.toEqual([kind, 'retry']);
    }
  });

  test('sends a submission again only where nothing was accepted', () => {
    const resent = ERROR_KIND_NAMES.filter((kind) => decide('pushIrm', kind).action === 'resend');
    expect(resent.sort()).toEqual(['attempt_closed', 'cancelled', 'ledger_unavailable', 'not_sent', 'rate_limited']);
  });

  test('leaves every submission that may have been taken unknown', () => {
    for (const operation of submissions) {
      for (const kind of [
        'outcome_unknown',
        'timeout',
        'connection_lost',
        'server_error',
        'portal_unavailable',
        'bad_answer',
        'unexpected',
      ] as const) {
        expect([operation, kind, decide(operation, kind).action]).toEqual([operation, kind, 'unknown']);
      }
    }
  });

  test('repeats a read after everything that passes', () => {
    for (const operation of reads) {
      for (const kind of [
        'not_sent',
        'timeout',
        'connection_lost',
        'server_error',
        'portal_unavailable',
        'bad_answer',
      ] as const) {
        expect([operation, kind, decide(operation, kind).action]).toEqual([operation, kind, 'retry']);
      }
    }
  });

  test('does not try a rejected password again by itself within the fuse', () => {
    for (const kind of ['credentials_rejected', 'credentials_invalid', 'account_locked'] as const) {
      expect(decide('checkCredentials', kind)).toMatchObject({ action: 'pause', state: 'needs_credentials' });
    }
  });
});
