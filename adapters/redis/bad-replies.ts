import * as dataHandler from 'ioredis/built/DataHandler.js';

/** What ioredis does with each reply. */
interface Handler {
  dispatch(take: () => void): void;
  returnFatalError(error: unknown): void;
}

/** Has a reply that ioredis trips over, such as a null that nobody asked for, end its connection like any other that is none: ioredis throws the error where nobody can
 *  catch it, and the process would end. To be called before the first connection; again it changes nothing. */
export function closeOnBadReply(): void {
  // The class itself, or the module that has it: which of the two a default is depends on who loads it.
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
