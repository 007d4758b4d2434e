import type { IncomingMessage } from 'node:http';
import { BadReview } from './review.ts';

/** A review contains an object twice, and these objects are a few KiB long. */
const MOST_BYTES = 256 * 1024;
/** The API server sends a review in one piece. */
const PATIENCE_MS = 2_000;
/** Maximum number of bodies read concurrently: 16 MiB in total. */
const MOST_AT_ONCE = 64;

/** Reads request bodies. Over the limit the oldest one is dropped: clients that send slowly, or not at all, cannot keep the API server out. */
export class Bodies {
  /** Functions that abort one read each; the oldest first. */
  readonly #underWay = new Set<() => void>();

  /** @throws BadReview when the Content-Type is not JSON, or the body is too long, too slow, or incomplete */
  async read(request: IncomingMessage): Promise<string> {
    const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
    if (type !== 'application/json') throw new BadReview('the Content-Type must be application/json');
    if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooLong();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const giveUp = (): void => reject(new BadReview('the body came too slowly'));
    const timer = setTimeout(giveUp, PATIENCE_MS);
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) reject(tooLong());
      else chunks.push(chunk);
    };
    request.on('data', take);
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    // Has no effect after `end`.
    request.once('close', () => reject(new BadReview('the body ended too soon')));
    this.#underWay.add(giveUp);
    if (this.#underWay.size > MOST_AT_ONCE) this.#eldest()?.();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      request.off('data', take);
      this.#underWay.delete(giveUp);
    }
  }

  #eldest(): (() => void) | undefined {
    const [eldest] = this.#underWay;
    // Removed immediately, not when its reader notices: the next request must not pick the same one.
    if (eldest) this.#underWay.delete(eldest);
    return eldest;
  }
}

const tooLong = (): BadReview => new BadReview(`the body is longer than ${MOST_BYTES} bytes`);
