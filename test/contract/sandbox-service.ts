import { createSandbox } from '../../src/sandbox/sandbox';
import type { ContractService } from './contract-service';

/** The sandbox, as the contract needs it. */
export async function sandboxService(): Promise<ContractService> {
  const sandbox = await createSandbox({ activationDelayMs: 0, ackDelayMs: 700, rateWindowMs: 2_000 });
  return {
    name: 'the sandbox',
    url: sandbox.url,
    apiKey: 'dev_sandbox_key',
    accounts: [
      { username: 'kaveri.softworks', password: 'Kaveri@Soft9', iec: 'AAKCK7719P' },
      { username: 'zenith.engineering', password: 'Zenith!Eng77', iec: '0388123459' },
    ],
    loseAnswer: (document, accepted) => {
      const kind = accepted ? 'accept-then-drop' : 'drop-before-accept';
      sandbox.addFault({ operation: 'push-irm', kind, match: { document } });
    },
    errorRow: async (document) => {
      const { outcomes } = await sandbox.state();
      const errorDetails = ['ERR36: Declaration flag'];
      outcomes.push({ script: { match: { document }, processingStatus: 'Errored', errorDetails }, left: 1 });
    },
    accepted: async () => (await sandbox.state()).filings.size,
    filedTwice: () => sandbox.doubleFilings(),
    close: () => sandbox.close(),
  };
}
