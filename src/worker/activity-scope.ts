import type { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { withLogScope } from '../telemetry/log-scope';
import type { SpanAttributes } from '../telemetry/tracer';

/** Adds the ids of the filing and the exporter to everything that an activity logs, and to its span. */
export class ScopeInterceptor implements ActivityInboundCallsInterceptor {
  constructor(
    private readonly activity: Context,
    private readonly describe?: (attributes: SpanAttributes) => void,
  ) {}

  execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const { activityType, workflowExecution, attempt } = this.activity.info;
    const { filingId, exporterId } = idsOf(input.args);
    this.describe?.({ 'ebrc.filing_id': filingId, 'ebrc.exporter_id': exporterId, attempt });
    const scope = { filingId, exporterId, workflowId: workflowExecution?.workflowId, activity: activityType };
    return withLogScope(scope, () => next(input));
  }
}

/** Activities take one object; its ids have the same names everywhere. */
function idsOf([first]: readonly unknown[]): { filingId?: string; exporterId?: string } {
  if (typeof first !== 'object' || first === null) return {};
  const { filingId, exporterId } = first as { filingId?: unknown; exporterId?: unknown };
  return {
    filingId: typeof filingId === 'string' ? filingId : undefined,
    exporterId: typeof exporterId === 'string' ? exporterId : undefined,
  };
}
