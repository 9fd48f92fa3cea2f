// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an ambient module, which no import names
/// <reference path="../../types/ms.d.ts" preserve="true" />
import { extractFiles } from '../assistant/extraction/extract';
import { importInvoices } from './exporters/import-invoices';
import type { EbrcClientDependencies } from './dependencies';
import { changeExporter, requireApproval } from './exporters/change';
import { onboardList, type OnboardListOptions } from './exporters/onboard-list';
import { onboard, onboarding, refreshIrms, updateCredentials } from './exporters/operations';
import { checkFile } from './filings/check';
import { correctFiling } from './filings/correct';
import { fileFile } from './filings/file';
import { writeEvidence } from './filings/evidence';
import { abandon, approve, resolve, resolveAll } from './filings/decide';
import { resumeAll, resumeFiling } from './filings/resume';
import { createEbrcReader } from './reader';
import { acknowledgeFinding, reconcile } from './reconcile';
import { applySchedules, deleteSchedules, listSchedules, readScheduleFile } from './schedules';

/** The functions of this folder, bound to dependencies that the caller opens and closes. They throw `RefusedError`. */
export function createEbrcClient(deps: EbrcClientDependencies) {
  const bound =
    <A extends unknown[], R>(work: (deps: EbrcClientDependencies, ...args: A) => R) =>
    (...args: A): R =>
      work(deps, ...args);
  // Loaded at the first use, because filing needs none of the code that writes workbooks.
  const loaded =
    <A extends unknown[], R>(load: () => Promise<(deps: EbrcClientDependencies, ...args: A) => Promise<R>>) =>
    async (...args: A): Promise<R> =>
      (await load())(deps, ...args);
  const reader = createEbrcReader(deps);
  const exporters = { onboard: bound(onboard), onboarding: bound(onboarding) };
  return {
    ...reader,
    ...exporters,
    approve: bound(approve),
    resolve: bound(resolve),
    /** Answers "not filed" for every filing that asks and against which nothing was found. */
    resolveAll: bound(resolveAll),
    abandon: bound(abandon),
    resume: bound(resumeFiling),
    resumeAll: bound(resumeAll),
    updateCredentials: bound(updateCredentials),
    refreshIrms: bound(refreshIrms),
    /** Files a push message or a workbook; filing the same content again finds the first filing. */
    file: bound(fileFile),
    /** Checks a push message or a workbook by all rules and balances, and sends nothing. */
    check: bound(checkFile),
    correct: bound(correctFiling),
    evidence: bound(writeEvidence),
    /** Onboards every exporter of a list (.csv); the failure of one row does not affect the others. */
    onboardList: (path: string, options: OnboardListOptions) =>
      onboardList(() => Promise.resolve({ ...exporters, exporters: () => reader.exporters() }), path, options),
    changeExporter: bound(changeExporter),
    /** Sets whether filings made from now on need a second person's approval. Switching it off takes two principals. */
    requireApproval: bound(requireApproval),
    /** A bulk workbook to fill in and file, with one row per IRM that has a free balance. */
    template: async (exporter: string, options?: { all?: boolean }) =>
      (await import('./exporters/template.js')).makeTemplate({ ...deps, api: await deps.api?.() }, exporter, options),
    /** Extracts shipping bills or invoices with the extraction service; one entry per file, also for failures. */
    extract: bound(extractFiles),
    draft: loaded(async () => (await import('../assistant/drafts/draft.js')).draftFiling),
    /** Imports the exporters' own documents into the ledger, for the ageing report. */
    importInvoices: bound(importInvoices),
    /** Compares the ledger with the authority, or joins a run of the same scope that is in progress. */
    reconcile: bound(reconcile),
    /** Acknowledges a finding without closing it. @throws RefusedError if it is unknown or the note is missing */
    acknowledge: bound(acknowledgeFinding),
    /** The schedules on Temporal: each function returns the schedules that it created, found or removed. */
    schedules: {
      /** @throws UsageError that names every problem of the file */
      apply: async (file: string) => applySchedules({ ...deps, planned: await readScheduleFile(file) }),
      list: () => listSchedules(deps),
      delete: bound(deleteSchedules),
    },
  };
}

export type EbrcClient = ReturnType<typeof createEbrcClient>;
