/** Events of moves that run and activities make alike. */
interface MoveNote {
  kind: string;
  text: string;
}

/** Of the move to the processing of a request. */
export const processingNote = (requestId: string | null): MoveNote => ({
  kind: 'processing',
  text: `request ${requestId} is with the authority`,
});

/** Of the move to the collection of certificates. */
export const COLLECTING_NOTE: MoveNote = { kind: 'collecting', text: 'the rows are settled; collecting certificates' };
