import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// .ci/run counts the tests from this file; nobody else needs it.
const results = process.env.TEST_RESULTS;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^rx-admission$/, replacement: here('./src/index.ts') },
      { find: /^rx-admission\/llm$/, replacement: here('./src/llm/index.ts') },
      { find: /^rx-admission\/database$/, replacement: here('./src/database/index.ts') },
      { find: /^rx-admission\/bulkhead$/, replacement: here('./src/bulkhead/index.ts') },
      { find: /^rx-admission\/otel$/, replacement: here('./src/observe/index.ts') },
      { find: /^rx-admission\/testing$/, replacement: here('./src/testing/index.ts') },
      { find: /^#platform$/, replacement: here('./src/platform/node.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    maxWorkers: 2,
    // Time is virtual in all but the end-to-end tests, which start child processes: those need the seconds.
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 5_000,
    dangerouslyIgnoreUnhandledErrors: false,
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text', 'json-summary', 'html'],
      reportsDirectory: 'coverage',
      thresholds: { lines: 97, branches: 97, statements: 97, functions: 97 },
    },
  },
});
