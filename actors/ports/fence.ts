/** Checked by the HTTP client after the budget is paid: `read` queries the record store, `assertFresh` runs synchronously just before the send. Both throw `Fenced`. */
export interface Fence {
  read(): Promise<void>;
  assertFresh(): void;
}
