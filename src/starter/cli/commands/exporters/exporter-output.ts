import type { ExporterProgress } from '../../../../domain/contracts';
import type { Cli } from '../../context';
import type { ExporterOutcome, ExporterWait } from '../../../exporters/operations';
import { EXIT, type ExitCode } from '../../../errors';
import { describeProblems } from '../../problem-text';
import { apart, fields, localTime } from '../../page';
import { stateCell } from '../../state-cell';

/** Options and callbacks of a command that may wait for an exporter. */
export function exporterWaiting(cli: Cli, wait: boolean | undefined): ExporterWait {
  const { terminal } = cli;
  if (wait)
    cli.onInterrupt(() => 'The onboarding goes on; only this command ended. `ebrc exporters` shows how it stands.');
  const progress = terminal.progress();
  return {
    wait: wait ?? false,
    onProgress: (state) => progress.say(progressText(state)),
    onNotice: (notice) => terminal.note(notice),
  };
}

function progressText({ state, activatesAt, irmCount, message }: ExporterProgress): string {
  const parts: string[] = [state];
  if (state === 'activation_pending' && activatesAt && !message)
    parts.push(`access opens at ${localTime(activatesAt)}`);
  if (irmCount !== null) parts.push(`${irmCount} IRMs`);
  if (message) parts.push(message);
  return parts.join(', ');
}

/** Prints the progress of an onboarding or of a change of credentials. */
export function printExporter({ terminal }: Cli, { notice, ...progress }: ExporterOutcome): void {
  terminal.result(progress, () => {
    const head = fields([
      ['Exporter', progress.exporterId],
      ['State', stateCell(progress.state)],
      ['Access opens at', localTime(progress.activatesAt)],
      ['IRMs', progress.irmCount],
      ['Message', progress.message],
      ['Workflow', progress.workflowId],
    ]);
    return apart([head, describeProblems(progress.errors)]);
  });
  if (notice) terminal.note(notice);
}

/** The exit code of a command that onboards or changes credentials. */
export function exitCodeOfExporter({ state }: ExporterProgress): ExitCode {
  if (state === 'refused') return EXIT.refused;
  return state === 'needs_credentials' ? EXIT.waiting : EXIT.done;
}
