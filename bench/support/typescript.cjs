'use strict';
// Lets `node -r ./bench/support/typescript.cjs FILE.ts` run the sources as they are, without a build: types are stripped by swc, as in
// the tests.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { transformSync } = require('@swc/core');

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    module: { type: 'commonjs' },
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    sourceMaps: 'inline',
  });
  module._compile(code, filename);
};

// `import('./x.js')` of a TypeScript source means x.ts: Node's own rule for sources that are not built yet.
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  const source =
    /^\.{1,2}\/.*\.js$/.test(request) && parent?.filename?.endsWith('.ts') ? request.slice(0, -3) : request;
  return resolveFilename.call(this, source, parent, ...rest);
};
