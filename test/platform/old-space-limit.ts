/** A child of the platform tests: prints the limit in MiB that the memory gate takes for the old space of this thread. */
import { MemoryGate } from 'rx-admission';

console.log(new MemoryGate().status(0).heapMaxBytes / 1_048_576);
