import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'documents/**', '.state/**', 'coverage/**'] },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json' } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'VariableDeclarator[init.type="AwaitExpression"][init.argument.type="ImportExpression"][init.argument.source.value=/^[^.#]/] > ObjectPattern > Property[key.name!="default"]',
          message: 'A CommonJS package may have its names on `default` alone, which tests do not show: take `default`.',
        },
      ],
      // Code is Prettier's; comments are read as they stand.
      'max-len': ['error', { code: 1_000, comments: 120, ignoreUrls: true }],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // Workflow code runs in the deterministic sandbox: no I/O. What else it may import is in .dependency-cruiser.cjs.
    files: ['src/workflows/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: '^(node:|fs$|path$|crypto$|pg$|undici$|exceljs$|pino$)', message: 'Workflows do no I/O.' },
          ],
        },
      ],
    },
  },
  {
    files: ['src/starter/**/*.ts', 'dev/**/*.ts', 'bench/**/*.ts', 'chaos/**/*.ts', 'examples/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'chaos/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      'max-lines': 'off',
    },
  },
  {
    files: ['{src,sandbox}/**/*.{ts,tsx}'],
    ignores: ['src/config/config.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only src/config/config.ts reads the environment.' },
      ],
    },
  },
  {
    // A pattern that tries a long text again and again would let a caller, a file or the service hold a process up.
    files: ['{src,sandbox}/**/*.{ts,tsx}'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
);
