import { contractSuite } from './contract-suite';
import { sandboxService } from './sandbox-service';

jest.setTimeout(60_000);
contractSuite(sandboxService);
