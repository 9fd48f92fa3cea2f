#!/usr/bin/env node
import { runProgram } from './cli/program';

// Not process.exit: what is written to a pipe has to be read first.
void runProgram(process.argv.slice(2), process).then((code) => {
  process.exitCode = code;
});
