/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: '<rootDir>/test/support/jest/shared-environment.cjs',
  runtime: '<rootDir>/test/support/jest/shared-runtime.cjs',
  roots: ['<rootDir>/test'],
  // `import('./x.js')` of a TypeScript source means x.ts.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1', '^#sandbox$': '<rootDir>/sandbox/sandbox.ts' },
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, sourceMaps: 'inline' }],
    '^.+\\.tsx$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'automatic', importSource: '@kitajs/html' } },
        },
        sourceMaps: 'inline',
      },
    ],
  },
  // Two for each core of the smallest machine the suite is meant for: most of a test's time it waits for a server.
  maxWorkers: 4,
  // Ends a test that hangs; no measure of anything: a busy machine may be ten times slower than an idle one.
  testTimeout: 180_000,
  setupFiles: ['<rootDir>/test/support/jest/property-seed.ts'],
  globalSetup: '<rootDir>/test/support/jest/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/jest/global-teardown.ts',
};
