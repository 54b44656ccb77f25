import rxjs from 'eslint-plugin-rxjs-x';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', 'node_modules/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked, rxjs.configs.strict],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // The house forbids it, `unknown` and generics serve.
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // Under verbatimModuleSyntax `import { type A }` still loads the module.
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // Log lines and summaries put numbers into templates all the time; null, undefined and objects stay forbidden.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Diagrams and numbers are ASCII: a spread of a string is its characters.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // Errors of the user's own streams and signals are of any kind, and pass unchanged.
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingAny: true, allowThrowingUnknown: true }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      'rxjs-x/throw-error': ['error', { allowThrowingUnknown: true }],
      // The type of what Observable's constructor hands over; only its own constructor is internal.
      '@typescript-eslint/no-deprecated': [
        'error',
        { allow: [{ from: 'package', package: 'rxjs', name: 'Subscriber' }] },
      ],
      // The fold knows an ask by the part it reads; the shell takes its own class back from the fold's answer.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // A parameter named _at is part of a signature that an implementation does not read.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Arrow functions that only forward to a void function are the house's handlers.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      'no-restricted-imports': ['error', { patterns: ['rxjs/internal/*', 'rxjs/internal'] }],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      // Named exports only.
      'no-restricted-syntax': ['error', { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' }],
      'no-restricted-globals': ['error', 'process', 'Buffer', 'setImmediate', 'require'],
      // Where every grant passes, arrays are walked by index: V8 does not inline the iterator of a frozen one.
      '@typescript-eslint/prefer-for-of': 'off',
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
    },
  },
  {
    // The one file that Node enters by.
    files: ['src/platform/node.ts'],
    rules: { 'no-restricted-globals': 'off' },
  },
  {
    files: ['test/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts'],
    rules: {
      // An error that nobody expects here is reported by RxJS and ends the run, which is what a test or example wants.
      'rxjs-x/no-ignored-error': 'off',
      // firstValueFrom of an empty stream rejects; that, too, ends the run.
      'rxjs-x/no-ignored-default-value': 'off',
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // A test that meets undefined fails by it.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Handlers whose being called is all that is watched.
      '@typescript-eslint/no-empty-function': ['error', { allow: ['arrowFunctions'] }],
    },
  },
);
