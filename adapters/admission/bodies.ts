import type { IncomingMessage } from 'node:http';
import { BadReview } from './review.ts';

/** A question holds an object twice, each of 3 MiB at most as the API server takes them. */
const MOST_BYTES = 8 * 1024 * 1024;
/** So much is held of all questions that are under way: whoever reaches the webhook can send, and must not fill the memory. */
const MOST_HELD_BYTES = 64 * 1024 * 1024;

/** Reads the bodies of requests, no more of them at once than there is room for. */
export class Bodies {
  #held = 0;

  /** @throws BadReview for what is no JSON by its header, is too long, or ends too soon; Error when there is no room for it now */
  async read(request: IncomingMessage): Promise<string> {
    const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
    if (type !== 'application/json') throw new BadReview('the Content-Type must be application/json');
    if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooLong();
    const chunks: Buffer[] = [];
    try {
      await this.#collect(request, chunks);
      return Buffer.concat(chunks).toString('utf8');
    } finally {
      this.#held -= lengthOf(chunks);
    }
  }

  async #collect(request: IncomingMessage, chunks: Buffer[]): Promise<void> {
    // Not destroyed when it is given up: the refusal goes back on the same connection.
    const pieces: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
    let bytes = 0;
    for await (const chunk of whole(pieces)) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) throw tooLong();
      if (this.#held + chunk.length > MOST_HELD_BYTES) throw new Error('too many questions at once');
      this.#held += chunk.length;
      chunks.push(chunk);
    }
  }
}

const tooLong = (): BadReview => new BadReview(`the body is longer than ${MOST_BYTES} bytes`);
const lengthOf = (chunks: readonly Buffer[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

/** A client that goes away is nothing to tell of. */
async function* whole(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* pieces;
  } catch {
    throw new BadReview('the body ended too soon');
  }
}
