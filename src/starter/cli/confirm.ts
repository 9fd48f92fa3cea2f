import { createInterface } from 'node:readline/promises';
import type { Finding } from '../../domain/rules/finding';
import { refusal, RefusedError } from '../errors';
import { counted, describeProblems } from './texts';
import type { Terminal } from './terminal';

/**
 * What happens before rows with warnings are sent that are usually rejected: `--strict` refuses them, on a terminal the
 * user is asked, and otherwise they are sent. @throws RefusedError where they are not to be sent
 */
export function doubtsOf(terminal: Terminal, strict: boolean): ((doubtful: Finding[]) => Promise<void>) | undefined {
  if (strict)
    return (doubtful) => Promise.reject(new RefusedError(doubtful.map((each) => ({ ...each, severity: 'error' }))));
  const { stdin, stdout, stderr, json } = terminal;
  if (json || !stdin.isTTY || !stdout.isTTY) return undefined;
  return async (doubtful) => {
    terminal.note(describeProblems(doubtful));
    const reader = createInterface({ input: stdin, output: stderr });
    try {
      const question = `The authority usually rejects rows with ${counted(doubtful.length, 'warning')} like these. File them anyway? [y/N] `;
      const answer = await reader.question(question);
      if (/^\s*y(es)?\s*$/iu.test(answer)) return;
    } finally {
      reader.close();
    }
    throw refusal('not_confirmed', 'You did not confirm the warnings. Correct them and file again.');
  };
}
