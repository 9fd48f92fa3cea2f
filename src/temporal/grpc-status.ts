/** The gRPC statuses that callers distinguish. */
const GRPC = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

/** Whether an error is a gRPC error of Temporal's server; by its shape, to avoid loading the client. */
export const isGrpcError = (error: unknown): error is Error & { code: number } =>
  error instanceof Error &&
  'metadata' in error &&
  'details' in error &&
  'code' in error &&
  typeof error.code === 'number';

/** Whether Temporal's server answered with one of these statuses, directly or as the cause of a `ServiceError`. */
export function isGrpcStatus(error: unknown, ...statuses: readonly (keyof typeof GRPC)[]): boolean {
  const cause = error instanceof Error && error.name === 'ServiceError' ? error.cause : error;
  return isGrpcError(cause) && statuses.some((status) => GRPC[status] === cause.code);
}
