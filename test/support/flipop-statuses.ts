import type { World } from './world.ts';

type Fields = Readonly<Record<string, unknown>>;

const OF_STATUS = ['error', 'ips', 'nodeErrors', 'assignableNodes'];
const OF_ADDRESS = ['state', 'nodeName', 'providerID', 'error'];

const only = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

/** Of what processes that are started from now on write into statuses only what FLIPOP's own definitions know is kept, as a server drops all else. Nor do these have a place for the intent of a creation. */
export function asFlipopKeeps(world: World): void {
  const process = world.cluster.process.bind(world.cluster);
  world.cluster.process = () => {
    const writer = process();
    const { project } = writer;
    writer.project = (projection) => {
      const { ips = {}, ...status } = projection.status as Fields & { readonly ips?: Readonly<Record<string, Fields>> };
      const kept = Object.fromEntries(Object.entries(ips).map(([address, entry]) => [address, only(entry, OF_ADDRESS)]));
      project({ ...projection, status: { ...only(status, OF_STATUS), ips: kept } as unknown as typeof projection.status });
    };
    writer.recordIntent = async () => undefined;
    return writer;
  };
}
