/** Traces of workflows. They add no commands, so a run may move between traced and other workers. */
import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/workflow';
import type { WorkflowInboundCallsInterceptor, WorkflowInterceptors } from '@temporalio/workflow';

export function interceptors(): WorkflowInterceptors {
  const inbound: WorkflowInboundCallsInterceptor = new OpenTelemetryInboundInterceptor();
  // No spans for queries: commands that wait for a filing query every few seconds, which would hide other spans.
  inbound.handleQuery = (input, next) => next(input);
  inbound.validateUpdate = (input, next) => next(input);
  return {
    inbound: [inbound],
    outbound: [new OpenTelemetryOutboundInterceptor()],
    internals: [new OpenTelemetryInternalsInterceptor()],
  };
}
