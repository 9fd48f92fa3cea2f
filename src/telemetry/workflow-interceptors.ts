/** Traces from workflows, in the bundles of traced workers. No commands: runs may move between both kinds. */
import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/workflow';
import type { WorkflowInboundCallsInterceptor, WorkflowInterceptors } from '@temporalio/workflow';

export function interceptors(): WorkflowInterceptors {
  const inbound: WorkflowInboundCallsInterceptor = new OpenTelemetryInboundInterceptor();
  // Commands that wait for a filing query every few seconds; a span for each would hide the others.
  inbound.handleQuery = (input, next) => next(input);
  inbound.validateUpdate = (input, next) => next(input);
  return {
    inbound: [inbound],
    outbound: [new OpenTelemetryOutboundInterceptor()],
    internals: [new OpenTelemetryInternalsInterceptor()],
  };
}
