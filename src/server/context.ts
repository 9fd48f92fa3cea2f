import type { EbrcClientDependencies } from '../starter/dependencies';
import type { DoorMetrics } from './http/metrics';
import type { FilingReader } from './views/filing';
import type { FeedMark } from '../ledger/events';
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

/** The dependencies for one exporter's request: its workbooks wait behind its own, and not others' behind them. */
export function depsFor({ deps }: Pick<Door, 'deps'>, exporterId: string): EbrcClientDependencies {
  return { ...deps, workbooks: deps.workbooks?.of(exporterId) };
}
