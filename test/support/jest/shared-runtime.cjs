// Loads packages once for all test files of a jest process; our own modules are loaded anew for each. Without it a
// sixth of the processor time of the suite goes into loading the same packages two hundred times. No test replaces a
// package: `jest.mock` has no effect on one.
const { createRequire } = require('node:module');
const { default: Runtime } = require('jest-runtime');

module.exports = class SharedRuntime extends Runtime {
  requireModuleOrMock(from, name) {
    const isPackage = !/^[./#]|^node:|^@jest\/globals$/.test(name);
    return isPackage ? createRequire(from)(name) : super.requireModuleOrMock(from, name);
  }
};
