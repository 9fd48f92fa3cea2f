/** What persons, operators and the passing of time do to a filing, beside what the stage itself does. */
import { randomUUID } from 'node:crypto';
import { filingDateInKolkata } from '../../src/domain/dates';
import type { Mapping } from '../../src/domain/filing/mapping';
import { createEbrcClient, type EbrcClient } from '../../src/starter/client';
import { filingQuery, pokeSignal } from '../../src/workflows/messages';
import { principalOf } from '../support/principals';
import { eventually } from '../support/processes';
import { TEST_SETTINGS } from '../support/settings';
import { HOUR_MS, type Filing, type FilingStage, type TestExporter } from './stage';

/** The typed client: of this principal, or of nobody, whose name is then a claim. */
export async function clientOf({ env, ledger, worker }: FilingStage, name?: string): Promise<EbrcClient> {
  const principal = name === undefined ? undefined : await principalOf(ledger.pool, name);
  return createEbrcClient({
    ...{ temporal: env.client, pool: ledger.pool, documents: worker.deps.documents, mode: 'test' },
    ...{ settings: { ...TEST_SETTINGS, ...worker.deps.settings }, taskQueue: worker.taskQueue },
    ...(principal && { principal }),
  });
}

/**
 * The settle time of the filing's attempts is over, by the clock and by beats, without the readings that a run makes
 * meanwhile. Waits until somebody is asked, with evidence of a reading after it.
 */
export async function settle(stage: FilingStage, filing: Filing): Promise<void> {
  await passSettleTime(stage, filing);
  await stage.until(filing, ({ asked }) => asked);
  await stage.untilAsleep(filing);
}

/** The same, without waiting for anything. */
export async function passSettleTime(stage: FilingStage, filing: Filing): Promise<void> {
  const { filingId } = await filing.query(filingQuery);
  // A reading that is given up for the poke would be waited for.
  await stage.untilAsleep(filing);
  await stage.ledger.pool.query(
    `WITH earlier AS (UPDATE attempts SET marked_at = marked_at - interval '5 hours', beat = beat - 1000,
          denied_since = denied_since - interval '5 hours' WHERE filing_id = $1
         RETURNING filing_id)
     UPDATE readings r SET began_at = began_at - interval '5 hours', ended_at = ended_at - interval '5 hours', beat = beat - 1000
       FROM filings f WHERE f.filing_id IN (TABLE earlier) AND r.mode = f.mode AND r.iec = f.iec`,
    [filingId],
  );
  await filing.signal(pokeSignal);
}

/** Waits until something holds. */
export const soon = (condition: () => boolean | Promise<boolean>): Promise<void> => eventually(condition, 30_000);

/** The evidence against "not filed" of a filing's last attempt, by name. */
export const namesOf = async (stage: FilingStage, filing: Filing): Promise<string[]> =>
  (await stage.view(filing)).evidence?.names ?? [];

/** Waits until evidence has (or lacks) something, and the round is over. */
export async function untilFound(stage: FilingStage, filing: Filing, name: RegExp): Promise<string[]> {
  await soon(async () => (await namesOf(stage, filing)).some((each) => name.test(each)));
  await stage.untilAsleep(filing);
  return namesOf(stage, filing);
}

/**
 * A certificate that somebody made at the portal by hand, for a row of this mapping, `daysAgo` by the server's clock,
 * which is years ahead after a few results. @returns its number
 */
export async function certifyByHand(
  stage: FilingStage,
  exporter: TestExporter,
  mapping: Mapping,
  more: { daysAgo?: number; eBRCNumber?: string; [field: string]: unknown } = {},
): Promise<string> {
  const {
    daysAgo = 0,
    eBRCNumber = `EB${randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()}`,
    ...other
  } = more;
  const account = await stage.account(exporter);
  const issuedOn = filingDateInKolkata((await stage.env.currentTimeMs()) - daysAgo * 24 * HOUR_MS);
  account.certificates.push({
    ...{ eBRCNumber, eBRCDate: issuedOn, iec: account.iec },
    ...{ billNo: mapping.billNo, sbCumInvoiceNumber: mapping.sbCumInvoiceNumber, irmNumber: mapping.irmNumber },
    ...{ sbCumInvoiceDate: mapping.sbCumInvoiceDate, realisedValueFCC: mapping.mappedIRMAmountFCC },
    ...{ currencyCode: mapping.irmFCC, realizationDt: exporter.irmDt, eBRCStatus: 'Issued' },
    ...{ brcUtilStatus: 'Unutilised', isGstAvailed: 'N', gstInvoiceNo: '', gstInvoiceDate: '' },
    ...{ requestId: null, serialNo: null, detailsFrom: 0, pdfFrom: 0 },
    ...other,
  });
  return eBRCNumber;
}

/** What was found, kind by kind: of a filing, that nothing closed yet. */
export async function findings({ ledger }: FilingStage, filingId: string | null): Promise<string[]> {
  const found = await ledger.select(
    'SELECT kind FROM findings WHERE filing_id = $1 AND closed_at IS NULL ORDER BY first_seen_at',
    filingId,
  );
  return found.map(({ kind }) => String(kind));
}

/** The rows of a filing: their states, and how they were certified. */
export async function rowStates({ ledger }: FilingStage, filingId: string | null): Promise<string[]> {
  const rows = await ledger.select(
    'SELECT state, certified_by FROM filing_rows WHERE filing_id = $1 ORDER BY position',
    filingId,
  );
  return rows.map(({ state, certified_by }) => [state, certified_by].filter(Boolean).join(' by '));
}
