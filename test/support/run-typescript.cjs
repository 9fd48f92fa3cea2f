// Lets plain Node run the sources: `node -r ./test/support/run-typescript.cjs src/starter/cli.ts`. Tests that start real
// processes need no build this way, and run what is being edited. With settings of jest's own transform (jest.config.js).
const { transformSync } = require('@swc/core');
const { readFileSync } = require('node:fs');
const Module = require('node:module');

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'commonjs', ignoreDynamic: true },
    sourceMaps: 'inline',
    isModule: true,
    swcrc: false,
  });
  module._compile(code, filename);
};
