/** The pages of `ebrc serve` on a filled ledger, as somebody who is signed in opens them. */
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import pino from 'pino';
import { createDocumentStore } from '../../src/documents/document-store';
import { openSession } from '../../src/ledger/principals/sessions';
import { withTransaction } from '../../src/ledger/pool';
import { newSecret } from '../../src/server/access/session';
import { startHttpApi } from '../../src/server/http-api';
import { addPrincipal } from '../../src/starter/principals';
import { chooseIrms, acceptFiling, filing, makeFiling, MODE, readyFiling, reserveFiling } from './filing-steps';
import { sendFiling, SETTINGS, type Ledger } from './filing-steps';

let opened: { url: string; cookie: string; close: () => Promise<void> } | null = null;

async function open({ pool, folder }: Ledger) {
  const documents = createDocumentStore({ root: join(folder, 'documents') });
  // Pages are read from the ledger alone.
  const temporal = {} as Client;
  const deps = { pool, temporal, documents, mode: MODE, taskQueue: 'ebrc', settings: SETTINGS } as const;
  const address = { host: '127.0.0.1', port: 0 };
  const httpApi = await startHttpApi({ deps, address, pages: true, logger: pino({ level: 'silent' }) });
  const roles = ['viewer', 'maker', 'checker', 'admin'];
  const { token } = await addPrincipal(deps, { name: `bench ${Date.now()}`, roles, by: 'bench' });
  const secret = newSecret();
  await openSession(pool, secret, { token });
  return { url: httpApi.url, cookie: `ebrc=${secret}`, close: () => httpApi.close() };
}

/** Opens a page until its last byte. @throws Error for any other answer */
export async function openPage(of: Ledger, path: string): Promise<void> {
  opened ??= await open(of);
  const answer = await fetch(`${opened.url}${path}`, { headers: { cookie: opened.cookie }, redirect: 'manual' });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 100)}`);
  if (!text.includes('</html>')) throw new Error(`${path} is no page`);
}

export async function closePages(): Promise<void> {
  await opened?.close();
  opened = null;
}

const ROWS = 999;

/** One filing of 999 rows, certified, with its PDFs. Made once. */
export async function wholeFiling(of: Ledger): Promise<void> {
  if (filing.irms.length === ROWS) return;
  await chooseIrms(of, ROWS);
  for (const step of [makeFiling, readyFiling, reserveFiling, sendFiling, acceptFiling]) await step(of);
  await withTransaction(of.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica');
    for (const statement of CERTIFIED) await client.query(statement, [filing.id]);
  });
}

const NUMBER = `'W' || right($1, 6) || lpad(position::text, 6, '0')`;
const CERTIFIED = [
  `INSERT INTO certificates (mode, iec, ebrc_number, exporter_id, ebrc_date, issued_on, status, document_no, amount, currency, document_key,
      detail, asked_at, pdf_document, pdf_sha256, pdf_bytes, archived_at)
     SELECT r.mode, r.iec, ${NUMBER}, f.exporter_id, '02052026', '2026-05-02', 'Issued', r.document_key, amount, currency, r.document_key, '{}', now(),
            'W' || position || '.pdf', md5(position::text) || md5(position::text), 20000, now()
       FROM filing_rows r JOIN filings f USING (filing_id) WHERE filing_id = $1`,
  `UPDATE filing_rows SET state = 'certified', record_status = 'processed', record_number = ${NUMBER}, ebrc_number = ${NUMBER},
          ebrc_date = '02052026', certified_by = 'record', settled_at = now() WHERE filing_id = $1`,
  `UPDATE attempts SET ended_at = now() WHERE filing_id = $1`,
  `UPDATE filings SET state = 'certified', closed_at = now(), due_at = NULL WHERE filing_id = $1`,
];
