import * as dataHandler from 'ioredis/built/DataHandler.js';

/** ioredis's reply handler. */
interface Handler {
  dispatch(take: () => void): void;
  returnFatalError(error: unknown): void;
}

/** Makes a reply that ioredis fails on, such as an unsolicited null, close its connection like any invalid reply: ioredis throws where the error cannot be
 *  caught, and the process would end. Call it before the first connection; repeated calls have no effect. */
export function closeOnBadReply(): void {
  // The default export is the class or the module with the class, depending on the module loader.
  const found: { readonly default?: unknown } = dataHandler.default;
  const { prototype } = (found.default ?? found) as { readonly prototype: Handler };
  prototype.dispatch = function (this: Handler, take) {
    try {
      take();
    } catch (error) {
      this.returnFatalError(error);
    }
  };
}
