/** A child of the platform tests: prints the limit that the memory gate takes inside a worker of 64 MiB. Bundled beside it. */
import { Worker } from 'node:worker_threads';

new Worker(new URL('./old-space-limit.mjs', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: 64 } });
