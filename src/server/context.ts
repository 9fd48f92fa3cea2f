import type { EbrcClientDependencies } from '../starter/dependencies';
import type { DoorMetrics } from './http/metrics';
import type { FilingReader } from './views/read-filings';
import type { FeedWatch } from './views/feed-watch';
import type { FilingWatch } from './views/waiting';

/** What the routes work with. */
export interface Door {
  deps: EbrcClientDependencies;
  filings: FilingReader;
  watch: FilingWatch;
  feed: FeedWatch;
  metrics: DoorMetrics;
  isStopping: () => boolean;
}
