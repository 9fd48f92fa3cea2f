import type { EbrcClientDependencies } from '../starter/dependencies';
import type { DoorMetrics } from './http/metrics';
import type { FilingReader } from './views/read-filings';
import type { FeedMark } from '../ledger/events/feed';
import type { Watch } from './views/watch';

/** What the routes work with. */
export interface Door {
  deps: EbrcClientDependencies;
  filings: FilingReader;
  watch: Watch<string>;
  feed: Watch<FeedMark>;
  metrics: DoorMetrics;
  isStopping: () => boolean;
}
