/**
 * Traces from inside of workflows. Part of the bundles for traced workers alone; in the others there is nothing of it.
 * What it does is no command of a workflow: a run may change between traced and untraced workers at any task.
 */
import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/workflow';
import type { WorkflowInboundCallsInterceptor, WorkflowInterceptors } from '@temporalio/workflow';

export function interceptors(): WorkflowInterceptors {
  const inbound: WorkflowInboundCallsInterceptor = new OpenTelemetryInboundInterceptor();
  // Whoever waits for a filing asks every few seconds; a span for each would bury the others.
  inbound.handleQuery = (input, next) => next(input);
  inbound.validateUpdate = (input, next) => next(input);
  return {
    inbound: [inbound],
    outbound: [new OpenTelemetryOutboundInterceptor()],
    internals: [new OpenTelemetryInternalsInterceptor()],
  };
}
