// Lets Node run the sources without a build: `node -r ./scripts/typescript.cjs dev/demo.ts`. swc strips the types, with
// the same settings as in jest.config.js. So the programs that tests, benches and development servers start are always
// the current sources.
const { transformSync } = require('@swc/core');
const { readFileSync } = require('node:fs');
const Module = require('node:module');

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
    isModule: true,
    swcrc: false,
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
