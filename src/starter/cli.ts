#!/usr/bin/env node
import { runProgram } from './cli/program';

// Sets exitCode instead of calling process.exit, which would cut off output that a pipe has not read yet.
void runProgram(process.argv.slice(2), process).then((code) => {
  process.exitCode = code;
});
