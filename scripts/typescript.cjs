// Lets Node run the sources without a build: `node -r ./scripts/typescript.cjs dev/demo.ts`. swc strips the types, with
// the same settings as in jest.config.js. So the programs that tests, benches and development servers start are always
// the current sources.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');

const OPTIONS = {
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
  isModule: true,
  swcrc: false,
};
// The pages of the server.
const PAGES = {
  ...OPTIONS,
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', tsx: true },
    transform: { react: { runtime: 'automatic', importSource: '@kitajs/html' } },
  },
};
const { version } = require('@swc/core/package.json');
// Tests start some hundred of these processes, and each would transform the same files again.
const CACHE = join(__dirname, '..', 'node_modules', '.cache', 'typescript', version);

for (const [extension, options] of Object.entries({ '.ts': OPTIONS, '.tsx': PAGES })) {
  Module._extensions[extension] = (module, filename) => {
    module._compile(transformed(filename, options), filename);
  };
}

function transformed(filename, options) {
  const source = readFileSync(filename, 'utf8');
  const key = createHash('sha1')
    .update(`${filename}\n${JSON.stringify(options)}\n${source}`)
    .digest('hex');
  const path = join(CACHE, `${key}.js`);
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Not in the cache yet.
  }
  const { code } = require('@swc/core').transformSync(source, { ...options, filename });
  try {
    mkdirSync(CACHE, { recursive: true });
    // Renamed, because other processes may read it at this moment.
    writeFileSync(`${path}.${process.pid}`, code);
    renameSync(`${path}.${process.pid}`, path);
  } catch {
    // A folder that may not be written to: transformed each time.
  }
  return code;
}

// `import('./x.js')` of a TypeScript source means x.ts: Node's own rule for sources that are not built yet. So is the
// sandbox, which package.json names where the build puts it.
const SANDBOX = join(__dirname, '..', 'sandbox', 'sandbox.ts');
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  const source =
    /^\.{1,2}\/.*\.js$/.test(request) && parent?.filename?.endsWith('.ts') ? request.slice(0, -3) : request;
  return resolveFilename.call(this, request === '#sandbox' ? SANDBOX : source, parent, ...rest);
};
