import { contractSuite } from './contract-suite';
import { sandboxService } from './sandbox-service';

contractSuite(sandboxService);
