/** Plays a plan: does each of its steps at its time. */
import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Decimal } from 'decimal.js';
import { filingDateInKolkata } from '../../src/domain/dates';
import { crashPostgres, restoreLedger } from '../disruptions/postgres';
import type { Lab } from './lab';
import { scriptOf } from './lies';
import { file, operate, rowsOf, type Played } from './operate';
import type { Plan, Step } from './plan';

export async function play(lab: Lab, plan: Plan): Promise<Played> {
  const played: Played = {
    plan,
    company: await lab.newCompany(),
    said: [],
    cancelled: new Map(),
    recorded: new Set(),
    refused: [],
  };
  const began = Date.now();
  const after = async (at: number, what: string, work: () => Promise<unknown>) => {
    await sleep(Math.max(0, began + at - Date.now()));
    await work().catch((error: Error) => played.refused.push(`${what}: ${error.message.slice(0, 300)}`));
  };
  await Promise.all([
    ...plan.filings.map(({ at }, nth) => after(at, `file ${nth}`, () => file(lab, played, nth))),
    ...plan.steps.map((step) => after(step.at, step.do, () => take(lab, played, step))),
  ]);
  return played;
}

async function take(lab: Lab, played: Played, step: Step): Promise<unknown> {
  const { stage, service, workers } = lab;
  const { company } = played;
  const match = { platformCustomerId: company.exporterId };
  switch (step.do) {
    case 'fault':
      return stage.sandbox.addFault({ ...step.fault, match });
    case 'lie':
      return service.script(scriptOf(step.lie, company.exporterId, step.times));
    case 'by hand':
      return certifyByHand(lab, played, step);
    case 'cancel at portal': {
      const newest = (await lab.account(company)).certificates.at(-1);
      if (newest) Object.assign(newest, { eBRCStatus: 'Cancelled' });
      return newest && played.cancelled.set(newest.eBRCNumber, Date.now());
    }
    case 'kill':
      return workers.restart(played.company.iec.length % workers.size, step.signal, 300);
    case 'clock':
      return lab.setClocks(step.aheadMs);
    case 'crash database':
      return crashPostgres(stage.pool);
    case 'restore ledger': {
      const restored = (since: Date) => stage.command(['ledger', 'restored', '--since', since.toISOString()]);
      return restoreLedger(stage.databaseUrl, restored, step.ageMs);
    }
    case 'store away':
      return takeStoreAway(stage.documentsRoot, step.forMs);
    default:
      return operate(lab, played, step);
  }
}

/** The exporter files the first row of a filing at the portal, by hand: its remittance falls. */
async function certifyByHand(
  lab: Lab,
  played: Played,
  { filing, amount }: Extract<Step, { do: 'by hand' }>,
): Promise<void> {
  const account = await lab.account(played.company);
  const [row] = rowsOf(played.plan, filing);
  const irm = account.irms.find(({ irmNumber }) => irmNumber === row?.irmNumber);
  if (!row || !irm) return;
  const value = row.mappedIRMAmountFCC + (amount === 'same' ? 0 : 7);
  irm.available = new Decimal(irm.available).minus(value).toFixed();
  account.certificates.push({
    ...{ eBRCNumber: `EBHAND${randomUUID().slice(0, 12).toUpperCase()}`, eBRCDate: filingDateInKolkata(Date.now()) },
    ...{ iec: account.iec, irmNumber: row.irmNumber, billNo: row.billNo, sbCumInvoiceNumber: row.sbCumInvoiceNumber },
    ...{ sbCumInvoiceDate: row.sbCumInvoiceDate, realisedValueFCC: value, currencyCode: row.irmFCC },
    ...{ realizationDt: irm.remittanceDate, eBRCStatus: 'Issued', brcUtilStatus: 'Unutilised', isGstAvailed: 'N' },
    ...{ gstInvoiceNo: '', gstInvoiceDate: '', requestId: null, serialNo: null, detailsFrom: 0, pdfFrom: 0 },
  });
}

/** A file is where the folder of the documents was. */
async function takeStoreAway(folder: string, forMs: number): Promise<void> {
  await rename(folder, `${folder}.away`);
  await writeFile(folder, '');
  await sleep(forMs);
  await rm(folder, { force: true });
  await rename(`${folder}.away`, folder);
}
