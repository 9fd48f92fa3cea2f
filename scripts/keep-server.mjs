// Keeps one program for the process that started this one, and ends with it.
//
//   node scripts/keep-server.mjs '{"log": "/path", "announce": "pid" | "output", "killAfterMs": 10000}' COMMAND …ARGS
//
// What the program prints goes to the log file; its process id is printed here as a first line, or, with "output", its
// standard output is passed on here instead. When standard input ends (the parent asks for it, or crashed, or was
// killed) the program is asked to stop by SIGTERM, and killed after `killAfterMs`. Ends with the program's exit code,
// and with the end of its log on stderr when it ended by itself.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

const [options, command, ...args] = process.argv.slice(2);
const { log: logFile, announce = 'pid', killAfterMs = 10_000 } = JSON.parse(options);

const log = openSync(logFile, 'a');
const program = spawn(command, args, { stdio: ['ignore', announce === 'output' ? 'inherit' : log, log] });
closeSync(log);

let stopping = false;
function stop() {
  if (stopping) return;
  stopping = true;
  program.kill('SIGTERM');
  setTimeout(() => program.kill('SIGKILL'), killAfterMs).unref();
}

program.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
program.once('spawn', () => {
  if (announce === 'pid') process.stdout.write(`${program.pid}\n`);
});
program.once('close', (code) => {
  if (stopping) process.exit(0);
  process.stderr.write(`${readFileSync(logFile, 'utf8').slice(-3_000)}\n`);
  process.exit(code || 1);
});
process.stdin.resume();
process.stdin.once('end', stop);
process.stdin.once('error', stop);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
