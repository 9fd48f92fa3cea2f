#!/usr/bin/env node
import { runProgram } from './cli/program';

// Not process.exit: output to a pipe must be read first.
void runProgram(process.argv.slice(2), process).then((code) => {
  process.exitCode = code;
});
