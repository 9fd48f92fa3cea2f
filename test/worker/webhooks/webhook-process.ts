import { createPool } from '../../../src/ledger/pool';
import type { TestDatabase } from '../../support/postgres';
import { startDelivering } from './receiver';

/** A worker process of its own, which tells endpoints until it is killed. Its database is its first argument. */
startDelivering({ pool: createPool({ url: process.argv[2] ?? '' }) } as TestDatabase);
