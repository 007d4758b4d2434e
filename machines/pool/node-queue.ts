import type { Address, Candidate } from '../model/types.ts';

/** Positions in the line of free nodes; those before `head` are taken. */
interface Line {
  readonly places: readonly number[];
  head: number;
}

/** Free nodes, the next one first. Each address takes the first one that it may have: in its region, and with no other address on it. An address compares the heads of at most
 *  three lines: a full search for each would be quadratic in a pool without suitable nodes. */
export class NodeQueue {
  readonly #nodes: readonly Candidate[];
  readonly #standing: ReadonlyMap<string, Address>;
  readonly #taken = new Set<number>();
  readonly #placeOf: ReadonlyMap<string, number>;
  /** Nodes that an address is on, by that address. */
  readonly #own = new Map<Address, number>();
  readonly #all: Line;
  readonly #byRegion = new Map<string, Line>();

  /** `standing`: by node name, the only address that may have the node. */
  constructor(nodes: readonly Candidate[], standing: ReadonlyMap<string, Address>) {
    this.#nodes = nodes;
    this.#standing = standing;
    this.#placeOf = new Map(nodes.map(({ name }, place) => [name, place]));
    const open: number[] = [];
    for (const [place, { name }] of nodes.entries()) {
      const address = standing.get(name);
      if (address === undefined) open.push(place);
      else this.#own.set(address, place);
    }
    this.#all = { places: open, head: 0 };
    for (const [region, places] of Map.groupBy(open, (place) => nodes[place]?.region ?? ''))
      this.#byRegion.set(region, { places, head: 0 });
  }

  get size(): number {
    return this.#nodes.length - this.#taken.size;
  }

  /** The node for the address, only the one named `wish` if given; null when it can have none. */
  take(address: Address, region: string, wish?: string): Candidate | null {
    const place = wish === undefined ? this.#firstFor(address, region) : this.#placeOf.get(wish);
    const node = place === undefined ? undefined : this.#nodes[place];
    if (place === undefined || !node || !this.#isFor(place, address, region)) return null;
    this.#taken.add(place);
    return node;
  }

  #firstFor(address: Address, region: string): number | undefined {
    const own = this.#own.get(address);
    const heads = region === '' ? [this.#headOf(this.#all)] : [region, ''].map((each) => this.#headOf(this.#byRegion.get(each)));
    if (own !== undefined && this.#isFor(own, address, region)) heads.push(own);
    const places = heads.filter((place) => place !== undefined);
    return places.length > 0 ? Math.min(...places) : undefined;
  }

  #headOf(line: Line | undefined): number | undefined {
    if (!line) return undefined;
    for (let place = line.places[line.head]; place !== undefined && this.#taken.has(place); place = line.places[line.head]) line.head += 1;
    return line.places[line.head];
  }

  #isFor(place: number, address: Address, wanted: string): boolean {
    const { name, region } = this.#nodes[place] ?? { name: '', region: '' };
    return (
      !this.#taken.has(place) && (this.#standing.get(name) ?? address) === address && (region === '' || wanted === '' || region === wanted)
    );
  }
}
