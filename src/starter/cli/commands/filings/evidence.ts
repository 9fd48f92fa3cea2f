import type { Command } from 'commander';
import type { Bind } from '../../context';
import { checkOutputPath, forceOption } from '../../output-path';
import { counted } from '../../../../domain/text';

const HELP = `
SHA256SUMS in it has the hash of every file: \`sha256sum -c SHA256SUMS\`. about.json says what retention has removed, and what differs
from what was recorded when it was sent.

Examples:
  $ ebrc evidence JULY-2026 -o july-2026.zip`;

export function addEvidenceCommand(program: Command, bind: Bind): void {
  program
    .command('evidence')
    .summary('write all evidence of a filing into one .zip')
    .description(
      'Write what was handed in, declared, granted, said, sent and answered, and the certificates, into one .zip.',
    )
    .argument('<filing>', 'filing id or reference (REFERENCE#n for the n-th filing under it)')
    .requiredOption('-o, --output <FILE>', 'the file; ends in .zip')
    .addOption(forceOption())
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [filing = ''], { output, force }: { output: string; force?: boolean }) => {
        await checkOutputPath(output, { force, endings: ['.zip'] });
        const { writeEvidence } = await import('../../../filings/evidence.js');
        const { mode } = await cli.config('mode', 'database', 'documents');
        const deps = { pool: await cli.pool(), documents: await cli.documents(), mode };
        const written = await writeEvidence(deps, filing, output);
        cli.terminal.result(written, () => `${counted(written.files.length, 'file')} written to ${output}.`);
        for (const { file, why } of [...written.removed, ...written.differs]) cli.terminal.note(`${file}: ${why}.`);
      }),
    );
}
