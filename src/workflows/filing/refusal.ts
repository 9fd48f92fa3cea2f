/** A filing, or a part of it, that is refused: nothing of that part was accepted. */
import type { Refused } from '../../activities/filings/end-filing';
import type { StoredAnswer } from '../../domain/filing/attempt';
import type { Finding } from '../../domain/rules/finding';
import { FilingMovedOn, type FilingRun } from './filing-run';
import { annotate } from './finish-filing';
import { onceLedgerIsWhole } from './pauses';

/** The filing, or one submission of it, cannot be sent as it is. */
export class FilingRefused extends Error {
  override readonly name = 'FilingRefused';
  constructor(
    readonly submission: number | null,
    readonly answer: StoredAnswer | null,
    readonly errors: Finding[],
  ) {
    super('refused');
  }
}

/** Does work on a filing; a refusal is recorded, and where something else of the filing is left, it goes on. */
export async function orRefused(run: FilingRun, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof FilingRefused)) throw error;
    const { submission, answer, errors } = error;
    const refused = await onceLedgerIsWhole(
      run,
      () =>
        run.step((held) => run.steps('Release the refused rows').refuseFiling({ ...held, submission, answer, errors })),
      { inRun: true },
    );
    await takeRefusal(run, submission, refused);
  }
}

/** Takes over that a part was refused. @throws FilingMovedOn when the ledger holds something that may have been sent */
export async function takeRefusal(
  run: FilingRun,
  submission: number | null,
  { errors }: Pick<Refused, 'errors'>,
): Promise<void> {
  run.errors = errors;
  const stages = run.filing?.submissions ?? [];
  for (const stage of stages) {
    if (stage.submission === submission || stage.state === 'planned') stage.state = 'released';
  }
  if (run.ended) return annotate(run);
  if (stages.every((stage) => stage.state === 'released')) {
    throw new FilingMovedOn('another attempt of a refused submission may have been sent');
  }
}
