import { createRequire } from 'node:module';
import type * as PromClient from 'prom-client';

const load = createRequire(import.meta.url);

// The package's index also loads its push gateway and a tracing library, which are not used here: 8 MB in every operator.
export const Registry = load('prom-client/lib/registry') as typeof PromClient.Registry;
export const Counter = load('prom-client/lib/counter') as typeof PromClient.Counter;
export const Gauge = load('prom-client/lib/gauge') as typeof PromClient.Gauge;
export const Histogram = load('prom-client/lib/histogram') as typeof PromClient.Histogram;

export type Registry = PromClient.Registry;
export type Gauge<L extends string> = PromClient.Gauge<L>;
