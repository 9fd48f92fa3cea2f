/** The event of the move to the processing of a request. */
export const processingNote = (requestId: string | null): { kind: string; text: string } => ({
  kind: 'processing',
  text: `request ${requestId} is with the authority`,
});
