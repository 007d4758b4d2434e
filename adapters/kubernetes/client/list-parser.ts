import { LONGEST } from './answers.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** The depth of the items: they are in the only array directly in the outermost object. */
const ITEM_DEPTH = 2;

/** Deeper content is dropped. Nothing that is read is that deep, and serializing it again would overflow the stack; but any client can write thousands of
 *  levels into the managedFields of a Pod, and one such Pod must not make the whole list unreadable. */
const DEEPEST = 200;

/** Scans the JSON of a Kubernetes list chunk by chunk and hands over each item as soon as it is complete, so that neither the text nor the objects of
 *  a whole page are ever held: short-lived garbage is cheap to collect. It only counts brackets; the items themselves are left to the parser. */
export class ItemScanner {
  readonly #take: (text: string) => void;
  #item: Buffer[] = [];
  #length = 0;
  #around = '';
  #depth = 0;
  #inItems = false;
  #inString = false;
  #escaped = false;

  constructor(take: (text: string) => void) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = this.#inString ? this.#endOfString(chunk, 0) + 1 : 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === QUOTE) at = this.#endOfString(chunk, at + 1);
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) from = this.#open(chunk, from, at);
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) from = this.#close(chunk, from, at);
    }
    if (this.#depth <= DEEPEST) this.#keep(chunk, from, chunk.length);
  }

  /** The list without its items. @throws SyntaxError when it is not complete */
  end(): string {
    if (this.#depth !== 0 || this.#inString || this.#around === '') throw new SyntaxError('the list ends in the middle');
    // Only the commas between the items remain.
    return this.#around.replace(/\[[\s,]*\]/, '[]');
  }

  /** Processes an opening bracket; returns where the part not yet kept begins. */
  #open(chunk: Buffer, from: number, at: number): number {
    const rest = this.#betweenItems() ? this.#keepAround(chunk, from, at) : from;
    if (this.#depth === ITEM_DEPTH - 1) this.#inItems = chunk[at] === OPEN_BRACKET;
    if (this.#depth === DEEPEST) this.#keep(chunk, rest, at + 1);
    this.#depth += 1;
    return rest;
  }

  #close(chunk: Buffer, from: number, at: number): number {
    this.#depth -= 1;
    if (this.#depth < 0) throw new SyntaxError('the list ends before it begins');
    if (this.#depth === DEEPEST) return at;
    return this.#betweenItems() ? this.#handOver(chunk, from, at + 1) : from;
  }

  #betweenItems(): boolean {
    return this.#inItems && this.#depth === ITEM_DEPTH;
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    if (!this.#inItems || this.#depth <= ITEM_DEPTH) return void this.#keepAround(chunk, from, to);
    this.#item.push(chunk.subarray(from, to));
    this.#length += to - from;
    within(this.#length);
  }

  #keepAround(chunk: Buffer, from: number, to: number): number {
    // Everything around the items is ASCII: names of kinds and versions, and tokens.
    this.#around += chunk.toString('latin1', from, to);
    within(this.#around.length);
    return to;
  }

  #handOver(chunk: Buffer, from: number, to: number): number {
    const last = chunk.subarray(from, to);
    const whole = this.#item.length === 0 ? last : Buffer.concat([...this.#item, last]);
    this.#item = [];
    this.#length = 0;
    this.#take(whole.toString('utf8'));
    return to;
  }

  /** The end of the string that contains `start`; the end of the chunk when it continues in the next one. */
  #endOfString(chunk: Buffer, start: number): number {
    this.#inString = true;
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
    }
    return chunk.length;
  }
}

function within(length: number): void {
  if (length > LONGEST) throw new Error(`an item of more than ${LONGEST / 2 ** 20} MiB`);
}
