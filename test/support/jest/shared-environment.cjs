// Runs each test file in the realm of its jest process, and not in a realm of its own: what shared-runtime.cjs loads
// once for all files has the same `Error` and `Array` as the tests then. Jest compiles a module into the realm that
// `getVmContext` answers, and has no word for "this one"; so the compiling is told here.
const vm = require('node:vm');
const { ModuleMocker } = require('jest-mock');

const THIS_REALM = {};
const { compileFunction } = vm;
vm.compileFunction = (code, parameters, { parsingContext, ...options } = {}) =>
  compileFunction(code, parameters, parsingContext === THIS_REALM ? options : { ...options, parsingContext });

module.exports = class SharedEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  // Tests wait for what happens, and set no clock of the process.
  fakeTimers = null;
  fakeTimersModern = null;
  #environment = {};

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return THIS_REALM;
  }

  async setup() {
    this.#environment = { ...process.env };
  }

  /**
   * The next file must see neither the variables that this one has set nor its `jest.setTimeout`. Jest's own handlers
   * and states of this file would be kept, and called, by every later one.
   */
  async teardown() {
    delete globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (symbol.description === 'JEST_STATE_SYMBOL') delete globalThis[symbol];
    for (const name of Object.keys(process.env)) if (!(name in this.#environment)) delete process.env[name];
    Object.assign(process.env, this.#environment);
  }
};
