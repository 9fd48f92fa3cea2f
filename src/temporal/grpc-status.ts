import { isGrpcServiceError, ServiceError } from '@temporalio/client';

/** The gRPC statuses that callers tell apart. */
const GRPC = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNAVAILABLE: 14,
} as const;

/** Whether Temporal's server answered with one of these statuses; the SDK's own error has that answer as its cause. */
export function isGrpcStatus(error: unknown, ...statuses: readonly (keyof typeof GRPC)[]): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && statuses.some((status) => GRPC[status] === Number(cause.code));
}
