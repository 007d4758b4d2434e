import { isDeepStrictEqual } from 'node:util';
import { Accounted } from '../../actors/ports/accounted.ts';
import type { ClusterSource, ClusterWriter, PoolProjection } from '../../actors/ports/cluster.ts';
import { Fenced } from '../../actors/ports/errors.ts';
import type { Json } from '../../actors/ports/records.ts';
import { type Address, FINALIZER, fieldsOf } from '../../machines/model/types.ts';
import { ClusterWatch } from './cluster-watch.ts';
import { type ClusterWorld, keyOf, ROUTED_IP, termOf } from './cluster-world.ts';
import { wishes } from './holders.ts';

/** The cluster as one process watches and writes it. */
export interface ProcessCluster extends ClusterSource, ClusterWriter {
  readonly watch: Pick<ClusterWatch, 'sees' | 'stick' | 'catchUp' | 'relist'>;
  /** The process dies: it receives and writes nothing more. */
  end(): void;
}

export const processCluster = (world: ClusterWorld): ProcessCluster => {
  const marks = wishes(world.holders);
  const waiting = new Map<string, () => void>();
  const projected = new Map<string, PoolProjection>();
  const shown = new Map<string, number>();
  const accounted = new Map<string, Accounted>();
  const accountedOf = (uid: string): Accounted => {
    const known = accounted.get(uid) ?? new Accounted();
    accounted.set(uid, known);
    return known;
  };
  /** Another pool may still want the node. */
  const annotateAgain = (nodes: ReadonlySet<string>): void => {
    for (const { annotated } of projected.values()) for (const node of nodes) world.annotations.fill(node, annotated[node] ?? []);
  };
  const write = (projection: PoolProjection): void => {
    annotateAgain(world.write(projection, accountedOf(projection.ref.uid)));
    if (!projection.unserved) shown.set(projection.ref.uid, projection.generation);
  };
  const watch = new ClusterWatch(world);
  let ended = false;
  const writeWaiting = (): void => {
    if (world.failing || world.lagging || ended) return;
    const all = [...waiting.values()];
    waiting.clear();
    for (const each of all) each();
  };
  const soon = (key: string, run: () => void): void => {
    waiting.set(key, run);
    queueMicrotask(writeWaiting);
  };
  const whileAlive = async <T>(run: () => T): Promise<T> => {
    await Promise.resolve();
    if (ended) return new Promise(() => undefined);
    const result = run();
    await Promise.resolve();
    return ended ? new Promise(() => undefined) : result;
  };
  const self = { watch, write: writeWaiting };
  world.processes.add(self);
  return {
    watch,
    start: (told) => whileAlive(() => watch.open(told)),
    resync: async () => {
      marks.again((mark) => soon('holders', mark));
      if (!ended) watch.resync();
    },
    knows: () => true,
    close: async () => {
      watch.close();
    },
    project: (projection) => {
      projected.set(keyOf(projection.ref), projection);
      accountedOf(projection.ref.uid).note(projection);
      soon(projection.ref.uid, () => write(projection));
    },
    shownGeneration: ({ uid }) => shown.get(uid) ?? null,
    guardTrouble: () => null,
    written: (ref) =>
      whileAlive(() => {
        world.assertWritable();
        const last = projected.get(keyOf(ref));
        if (last === undefined) return;
        const [stands, term] = [termOf(world.stored(ref)?.status), termOf(last.status)];
        if (stands > term) throw new Fenced(`memory cluster: ${ref.name} was written under term ${stands}, not ${term}`);
        write(last);
      }),
    retract: (ref, addresses) => {
      projected.delete(keyOf(ref));
      accounted.delete(ref.uid);
      return new Promise((done) =>
        soon(ref.uid, () => {
          annotateAgain(world.annotations.remove(addresses, {}));
          if (ref.kind === ROUTED_IP) world.guard(ref, []);
          done();
        }),
      );
    },
    recordIntent: (owner, { provider = '', region, knownAddresses, listedAt, term }) =>
      whileAlive(() => {
        const written = termOf(world.pools.get(keyOf(owner))?.status);
        if (written > term) throw new Fenced(`memory cluster: ${owner.name} was written under term ${written}, not ${term}`);
        const pendingCreate = { provider, region, knownAddresses, startedAt: new Date(listedAt).toISOString() };
        world.change(owner, (pool) => ({ ...pool, status: { ...fieldsOf<Json>(pool.status), term, pendingCreate } }));
      }),
    appendAddress: (owner, address) =>
      whileAlive(() => {
        const next = world.change(owner, (pool) => {
          const spec = fieldsOf<Json>(pool.spec);
          const ips = Array.isArray(spec.ips) ? spec.ips : [];
          return ips.includes(address) ? pool : { ...pool, generation: pool.generation + 1, spec: { ...spec, ips: [...ips, address] } };
        });
        return { ips: fieldsOf<Json>(next.spec).ips as unknown as readonly Address[], generation: next.generation };
      }),
    guard: (ref) => whileAlive(() => world.guard(ref, [FINALIZER])),
    unguard: (ref) => whileAlive(() => world.guard(ref, [])),
    bindAddress: (owner, address, origin) =>
      whileAlive(() => {
        world.change(owner, (pool) => ({ ...pool, status: { ...fieldsOf<Json>(pool.status), routedIP: address, addressOrigin: origin } }));
      }),
    markHolder: (node, effect) =>
      whileAlive(() =>
        marks.mark(node, () => {
          world.assertWritable();
          world.holders.mark(node, effect);
        }),
      ),
    markHolders: (wanted, complete) => soon('holders', marks.want(wanted, complete)),
    showEvacuations: (wanted) =>
      soon('evacuations', () => {
        world.evacuations = wanted;
      }),
    announce: (about, event) =>
      whileAlive(() => {
        world.assertWritable();
        const isTold = world.announced.some((each) => isDeepStrictEqual(each, { about, event }));
        if (!isTold) world.announced.push({ about, event });
      }),
    forget: () => [marks.forget(), waiting.clear(), shown.clear(), projected.clear(), accounted.clear()],
    flush: async () => writeWaiting(),
    end: () => {
      ended = true;
      watch.close();
      world.processes.delete(self);
    },
  };
};
