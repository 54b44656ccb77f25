/** What each entry point adds to a browser's bundle, minified and gzipped, RxJS aside: `npm run size`. README tells the first. */

/** The paths of our own tsconfig lead to src; a user's bundler has none, and takes what package.json offers. */
const asUsersDo = (config) => ({ ...config, tsconfigRaw: {} });

const entry = (name, path, limit, some) => ({
  name,
  path: `dist/${path}`,
  ...some,
  limit,
  gzip: true,
  ignore: ['rxjs'],
  modifyEsbuildConfig: asUsersDo,
});

// Each limit is a ratchet, not an aim: it says what is there now, so that nothing grows unseen.
export default [
  entry('a start', 'index.js', '27 kB', { import: '{ createAdmission, demand, CountingGate, TokenBucket }' }),
  entry('rx-admission', 'index.js', '32 kB'),
  entry('rx-admission/llm', 'llm/index.js', '18 kB'),
  entry('rx-admission/database', 'database/index.js', '9 kB'),
  entry('rx-admission/bulkhead', 'bulkhead/index.js', '10 kB'),
  entry('rx-admission/otel', 'observe/index.js', '3 kB'),
  entry('rx-admission/testing', 'testing/index.js', '43 kB'),
];
