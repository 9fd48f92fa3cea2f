// Runs a program for its parent process, and ends with the parent.
//
// node scripts/keep-server.mjs '{"log": "/path", "announce": "pid" | "output", "killAfterMs": 10000}' COMMAND …ARGS
//
// The program's output goes to the log file, and its process id is printed as the first line; with "output" its
// standard output is passed on instead. When standard input ends (the parent closes it, or has crashed or been killed),
// the program gets SIGTERM, and SIGKILL after `killAfterMs`. Exits with the program's exit code; if the program exits
// by itself, the end of its log is printed on stderr: of a Go program that panicked, from its message on.
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
  const text = readFileSync(logFile, 'utf8').slice(-64_000);
  const panic = text.lastIndexOf('\npanic: ');
  process.stderr.write(`${panic < 0 ? text.slice(-3_000) : text.slice(panic + 1, panic + 3_000)}\n`);
  process.exit(code || 1);
});
process.stdin.resume();
process.stdin.once('end', stop);
process.stdin.once('error', stop);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
