import type { IncomingMessage } from 'node:http';
import { BadReview } from './review.ts';

/** A question holds an object twice, and what is asked about is a few KiB long. */
const MOST_BYTES = 256 * 1024;
/** The API server sends a question in one piece. */
const PATIENCE_MS = 2_000;
/** So many are read at once: 16 MiB at most, whoever sends them. */
const MOST_AT_ONCE = 64;

/** Reads the bodies of requests. Whoever is slow goes first: no number of strangers who send slowly, or not at all, keeps the API server out. */
export class Bodies {
  /** Ends the reading of one; the eldest first. */
  readonly #underWay = new Set<() => void>();

  /** @throws BadReview for what is no JSON by its header, is too long or too slow, or ends too soon */
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
    // After its end nobody listens to that any more.
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
    // At once, not when its reader has noticed: the next one that comes must not take the same for the eldest.
    if (eldest) this.#underWay.delete(eldest);
    return eldest;
  }
}

const tooLong = (): BadReview => new BadReview(`the body is longer than ${MOST_BYTES} bytes`);
