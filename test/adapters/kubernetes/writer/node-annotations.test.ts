import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SeenNode } from '../../../../adapters/kubernetes/cache/trim.ts';
import { ApiError, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import { backoff } from '../../../../adapters/kubernetes/client/backoff.ts';
import { type Connection, JSON_PATCH, type Request } from '../../../../adapters/kubernetes/client/connection.ts';
import type { Seen } from '../../../../adapters/kubernetes/source/source.ts';
import { NodeAnnotations } from '../../../../adapters/kubernetes/writer/node-annotations.ts';
import { Lane } from '../../../../adapters/kubernetes/writer/work-queue.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';
import type { Address } from '../../../../machines/model/types.ts';
import { extent } from '../../../support/extent.ts';
import { IPV4 } from './writer-support.ts';

const NODES = ['a', 'b'];
const POOLS = ['x', 'y', 'z'];
const ADDRESSES = ['203.0.113.1', '203.0.113.2', '203.0.113.3'] as Address[];

/** The nodes of a cluster whose watch shows what they bear a moment later, and whose server fails when told so: before or after it did what it was asked for. */
class Cluster {
  readonly clock = virtualClock();
  readonly borne = new Map<string, Address>();
  readonly #shown = new Map<string, Address>();
  fails: 'before' | 'after' | null = null;

  readonly seen: Seen = {
    object: () => null,
    nodes: () => [],
    node: (name) => ({ ipv4: this.#shown.get(name) ?? null, ipv6: null }) as SeenNode,
    nodesBearing: (address) => [...this.#shown].flatMap(([node, each]) => (each === address ? [node] : [])),
  };

  readonly connection = { send: (request: Request) => this.#send(request) } as Connection;

  async #send({ path, contentType, body }: Request): Promise<unknown> {
    const node = path.split('/').at(-1) ?? '';
    await this.#pass(10);
    const { fails } = this;
    this.fails = null;
    if (fails !== 'before')
      this.#apply(node, contentType === JSON_PATCH ? null : annotationIn(body), contentType === JSON_PATCH ? body : null);
    if (fails) throw new ServerUnreachable(`it fails ${fails}`);
    await this.#pass(10);
    return {};
  }

  #apply(node: string, address: Address | null, patch: unknown): void {
    if (address === null) {
      const [{ value }] = patch as [{ value: string }];
      if (this.borne.get(node) !== value) throw new ApiError('Invalid', 422, 'the test failed');
      this.borne.delete(node);
    } else this.borne.set(node, address);
    this.clock.after(1_000, () => (address === null ? this.#shown.delete(node) : this.#shown.set(node, address)));
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(ms, resolve));
  }
}

const annotationIn = (body: unknown): Address =>
  (body as { metadata: { annotations: Record<string, Address> } }).metadata.annotations[IPV4] as Address;

const steps = fc.array(
  fc.record({
    pool: fc.constantFrom(...POOLS),
    node: fc.constantFrom(...NODES, null),
    fails: fc.constantFrom(null, null, 'before' as const, 'after' as const),
    afterMs: fc.constantFrom(0, 0, 10, 15, 300, 2_000, 12_000),
  }),
  { minLength: 2, maxLength: 12 },
);

test('a node bears what the pool wants that came to want it last, and nothing when none does, whatever fails meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const cluster = new Cluster();
      const { clock } = cluster;
      const annotations = new NodeAnnotations(cluster.connection, clock, cluster.seen);
      const lanes = new Map(
        POOLS.map((pool) => [
          pool,
          new Lane({
            clock,
            pace: { intervalMs: 50, burst: 4, impatienceMs: 100 },
            backoff: backoff({ firstMs: 20, factor: 2, maxMs: 100 }, () => 0.5),
            run: () => annotations.write(pool),
            failed: () => undefined,
          }),
        ]),
      );
      const wants = new Map<string, string>();
      for (const { pool, node, fails, afterMs } of all) {
        const address = ADDRESSES[POOLS.indexOf(pool)] as Address;
        if (wants.get(pool) !== node) wants.delete(pool);
        if (node !== null) wants.set(pool, node);
        annotations.want(pool, { annotated: node === null ? {} : { [node]: address }, addresses: [address] }, null);
        if (!annotations.isRight(pool)) lanes.get(pool)?.request();
        cluster.fails = fails;
        await clock.advance(afterMs);
      }
      cluster.fails = null;
      await clock.advance(5_000);
      const wanted = new Map([...wants].map(([pool, node]) => [node, ADDRESSES[POOLS.indexOf(pool)]]));
      expect(Object.fromEntries(cluster.borne)).toEqual(Object.fromEntries(wanted));
    }),
    { numRuns: extent(5_000, 200) },
  );
});
