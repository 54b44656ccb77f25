/** As much of OpenTelemetry's API as is used, by shape: whoever brings it brings its types. */

export type Attributes = Readonly<Record<string, string | number | boolean>>;

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { readonly explicitBucketBoundaries: number[] };
}

export interface Counter {
  add(value: number, attributes: Attributes): void;
}

export interface Histogram {
  record(value: number, attributes: Attributes): void;
}

/** All that is observed at once is read off one status. */
export interface BatchResult {
  observe(gauge: ObservableGauge, value: number, attributes: Attributes): void;
}

/** Opaque here: it is read in batches. */
export type ObservableGauge = object;

/** A `Meter` of `@opentelemetry/api`. */
export interface MeterLike {
  createCounter(name: string, options: InstrumentOptions): Counter;
  createHistogram(name: string, options: InstrumentOptions): Histogram;
  createObservableGauge(name: string, options: InstrumentOptions): ObservableGauge;
  addBatchObservableCallback(callback: (result: BatchResult) => void, gauges: ObservableGauge[]): void;
  removeBatchObservableCallback(callback: (result: BatchResult) => void, gauges: ObservableGauge[]): void;
}

export interface Span {
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  end(): void;
}

/** A `Tracer` of `@opentelemetry/api`. */
export interface TracerLike {
  startSpan(name: string, options: { readonly attributes: Attributes }): Span;
}
