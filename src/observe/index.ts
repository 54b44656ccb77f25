/** OpenTelemetry for admissions. */
export { instrument, type InstrumentOptions } from './instrument.js';
export type { MeterLike, TracerLike } from './otel-api.js';
