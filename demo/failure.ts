/** What was shown did not come about: exit 1 with this message. */
export class DemoFailure extends Error {}

/** A signal ended it before the end. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
    this.signal = signal;
  }
}
