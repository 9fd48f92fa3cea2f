import { contractSuite } from './contract-suite';
import type { ContractService } from './contract-service';
import { OTHER_KEY, startOtherService } from './other-service';

async function otherService(): Promise<ContractService> {
  const service = await startOtherService();
  return {
    name: 'another service',
    apiKey: OTHER_KEY,
    url: service.url,
    accounts: service.accounts,
    loseAnswer: (document, accepted) => service.loseAnswer(document, accepted),
    errorRow: (document) => Promise.resolve(service.errorRow(document)),
    accepted: () => Promise.resolve(service.accepted()),
    filedTwice: () => service.filedTwice(),
    close: () => service.close(),
  };
}

contractSuite(otherService, { brief: true });
