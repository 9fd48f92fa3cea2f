// Keeps one server for the process that started this one, and ends with it.
//
//   node scripts/keep-server.mjs LOG-FILE COMMAND …ARGS
//
// Prints the server's process id as a first line; what the server prints goes to the log file. When standard input ends (the parent
// asks for it, or crashed, or was killed) the server is asked to stop by SIGTERM and killed after 10 s. Ends with the server's exit
// code, and with the end of its log on stderr when it ended by itself.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

const KILL_AFTER_MS = 10_000;

const [logFile, command, ...args] = process.argv.slice(2);
const log = openSync(logFile, 'a');
const server = spawn(command, args, { stdio: ['ignore', log, log] });
closeSync(log);

let stopping = false;
function stop() {
  if (stopping) return;
  stopping = true;
  server.kill('SIGTERM');
  setTimeout(() => server.kill('SIGKILL'), KILL_AFTER_MS).unref();
}

server.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
server.once('spawn', () => process.stdout.write(`${server.pid}\n`));
server.once('close', (code) => {
  if (stopping) process.exit(0);
  process.stderr.write(`${readFileSync(logFile, 'utf8').slice(-3_000)}\n`);
  process.exit(code || 1);
});
process.stdin.resume();
process.stdin.once('end', stop);
process.stdin.once('error', stop);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
