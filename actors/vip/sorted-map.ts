interface TreeNode<K, V> {
  readonly key: K;
  value: V;
  readonly priority: number;
  left: Tree<K, V>;
  right: Tree<K, V>;
}

type Tree<K, V> = TreeNode<K, V> | null;

/** A map ordered by key. `get`, `set`, `delete`, `first` and `floor` take O(log n) steps, whatever the order in which keys come and go.
 *  It is a treap: a search tree by key and at the same time a heap by priority; priorities come from a fixed sequence, so that runs are repeatable. */
export class SortedMap<K, V> {
  readonly #compare: (a: K, b: K) => number;
  #root: Tree<K, V> = null;
  #size = 0;
  #draw = 0x9e3779b9;

  constructor(compare: (a: K, b: K) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#find(key)?.value;
  }

  set(key: K, value: V): void {
    const node = this.#find(key);
    if (node !== null) {
      node.value = value;
      return;
    }
    const [left, right] = this.#split(this.#root, key);
    const added = { key, value, priority: this.#priority(), left: null, right: null };
    this.#root = joined(joined(left, added), right);
    this.#size++;
  }

  /** Harmless when there is none. */
  delete(key: K): void {
    if (this.#find(key) === null) return;
    this.#root = this.#without(this.#root, key);
    this.#size--;
  }

  /** The entry of the lowest key. */
  first(): readonly [K, V] | null {
    let node = this.#root;
    while (node?.left) node = node.left;
    return node && [node.key, node.value];
  }

  /** The entry of the highest key that is not above `key`. */
  floor(key: K): readonly [K, V] | null {
    let best: Tree<K, V> = null;
    let node = this.#root;
    while (node !== null) {
      if (this.#compare(node.key, key) <= 0) {
        best = node;
        node = node.right;
      } else node = node.left;
    }
    return best && [best.key, best.value];
  }

  /** The entries of the keys from `first` to `last`, both included, ascending; as of now, so that the map may change meanwhile. */
  between(first: K, last: K): readonly (readonly [K, V])[] {
    const found: (readonly [K, V])[] = [];
    this.#collect(this.#root, first, last, found);
    return found;
  }

  /** All keys ascending, as of now, so that the map may change meanwhile. */
  keys(): readonly K[] {
    const keys: K[] = [];
    const walk = (node: Tree<K, V>): void => {
      if (node === null) return;
      walk(node.left);
      keys.push(node.key);
      walk(node.right);
    };
    walk(this.#root);
    return keys;
  }

  #find(key: K): Tree<K, V> {
    let node = this.#root;
    while (node !== null) {
      const order = this.#compare(key, node.key);
      if (order === 0) return node;
      node = order < 0 ? node.left : node.right;
    }
    return null;
  }

  #collect(node: Tree<K, V>, first: K, last: K, found: (readonly [K, V])[]): void {
    if (node === null) return;
    const isFrom = this.#compare(node.key, first) >= 0;
    const isTo = this.#compare(node.key, last) <= 0;
    if (isFrom) this.#collect(node.left, first, last, found);
    if (isFrom && isTo) found.push([node.key, node.value]);
    if (isTo) this.#collect(node.right, first, last, found);
  }

  /** Splits the tree into what is below `key`, and what is not. */
  #split(node: Tree<K, V>, key: K): [Tree<K, V>, Tree<K, V>] {
    if (node === null) return [null, null];
    if (this.#compare(node.key, key) < 0) {
      const [left, right] = this.#split(node.right, key);
      node.right = left;
      return [node, right];
    }
    const [left, right] = this.#split(node.left, key);
    node.left = right;
    return [left, node];
  }

  #without(node: Tree<K, V>, key: K): Tree<K, V> {
    if (node === null) return null;
    const order = this.#compare(key, node.key);
    if (order === 0) return joined(node.left, node.right);
    if (order < 0) node.left = this.#without(node.left, key);
    else node.right = this.#without(node.right, key);
    return node;
  }

  /** The next of a xorshift sequence. */
  #priority(): number {
    this.#draw ^= this.#draw << 13;
    this.#draw ^= this.#draw >>> 17;
    this.#draw ^= this.#draw << 5;
    return this.#draw;
  }
}

/** Joins two trees; every key of the left is below every key of the right. */
function joined<K, V>(left: Tree<K, V>, right: Tree<K, V>): Tree<K, V> {
  if (left === null || right === null) return left ?? right;
  if (left.priority > right.priority) {
    left.right = joined(left.right, right);
    return left;
  }
  right.left = joined(left, right.left);
  return right;
}

export const byNumber = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
