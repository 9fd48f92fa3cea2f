// Lints the description of the HTTP API (schemas/openapi.json).
import { createConfig, formatProblems, getTotals, lint } from '@redocly/openapi-core';

const ROOT = new URL('..', import.meta.url);

const config = await createConfig({
  extends: ['recommended'],
  rules: {
    // The problem of every error is the default answer.
    'operation-4xx-response': 'off',
  },
});
const problems = await lint({ ref: new URL('schemas/openapi.json', ROOT).pathname, config });
const totals = getTotals(problems);
formatProblems(problems, { format: 'codeframe', totals });
process.exitCode = problems.length > 0 ? 1 : 0;
