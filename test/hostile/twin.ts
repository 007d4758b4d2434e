import type { Address } from '../../machines/types.ts';
import { FIREWALLS, type History, ZONE } from '../simulation/history.ts';
import { brokenBy, Simulation } from '../simulation/run.ts';
import type { WorldOptions } from '../support/world.ts';
import { withoutAttacker } from './histories.ts';
import { Outages } from './outages.ts';

/** A failover may take so much longer while somebody attacks, ms. */
const LONGER_MS = 1_000;

interface Run {
  readonly simulation: Simulation;
  readonly outages: Outages;
  readonly broken: readonly string[];
}

async function run(history: History, options: WorldOptions = {}): Promise<Run> {
  const simulation = new Simulation(history, options);
  const outages = new Outages(simulation);
  return { simulation, outages, broken: await brokenBy(simulation) };
}

/** What those have in the end who attack nobody, as text: by address the name of who has it. */
function owned({ made }: Simulation): ReadonlyMap<Address, string> {
  const names = new Map(made.victims().map(({ ref }) => [ref.uid, `${ref.kind} ${ref.namespace}/${ref.name}`]));
  return new Map(
    [...made.owners()].flatMap(([address, uid]) => {
      const name = names.get(uid);
      return name === undefined ? [] : [[address, name] as const];
    }),
  );
}

/** What is at the provider and on nodes, where nothing but an attack tells two runs apart. */
const shown = ({ world, history }: Simulation): Readonly<Record<string, unknown>> => ({
  marks: world.cluster.holders(),
  firewalls: FIREWALLS.map((name) => world.provider.cloud.findFirewall(name)).map(
    (each) => each && [each.name, [...each.ports].sort(), [...each.nodes].sort()],
  ),
  annotations: world.cluster.annotations(),
  names: history.names
    ? world.provider.cloud
        .zone(ZONE)
        .records.map(({ type, name, data }) => `${type} ${name} ${data}`)
        .sort()
    : [],
  services:
    world.vips
      ?.services()
      .filter(({ ref }) => ref.namespace === 'default')
      .map(({ ref, ingress }) => [ref.name, ingress]) ?? [],
});

function differences({ simulation, outages }: Run, twin: Run, isCalm: boolean): readonly string[] {
  const gained = simulation.attacker?.gained ?? new Set();
  const [now, then] = [owned(simulation), owned(twin.simulation)];
  const lost = [...then].filter(
    ([address, owner]) =>
      (isCalm ? now.get(address) !== owner : simulation.history.holders && isThereFirst(simulation, address) && !now.has(address)) &&
      !gained.has(address),
  );
  const taken = lost.map(
    ([address, owner]) => `an attack takes what others have: ${address} of ${owner} is ${now.get(address) ?? "nobody's"}`,
  );
  if (!isCalm || gained.size > 0) return taken;
  const places = [...then.keys()].flatMap((address) => {
    const [on, wasOn] = [simulation.world.holderIfAny(address), twin.simulation.world.holderIfAny(address)];
    return on === wasOn ? [] : [`an attack moves what others have: ${address} is on ${on}, not ${wasOn}`];
  });
  const wasShown = shown(twin.simulation);
  const changed = Object.entries(shown(simulation)).flatMap(([what, is]) => {
    const [text, was] = [JSON.stringify(is), JSON.stringify(wasShown[what])];
    return text === was ? [] : [`an attack changes ${what}: ${text}, not ${was}`];
  });
  const slower = [...then.keys()].flatMap((address) => {
    const former = twin.outages.of(address);
    return outages.of(address).flatMap(({ from, ms }) => {
      const usual = former.find((each) => Math.abs(each.from - from) <= LONGER_MS)?.ms ?? 0;
      return ms <= usual + LONGER_MS
        ? []
        : [`an attack holds up a failover: ${address} was out for ${ms} ms from ${from} on, not ${usual}`];
    });
  });
  return [...taken, ...places, ...changed, ...slower];
}

const isThereFirst = ({ history }: Simulation, address: Address): boolean =>
  history.holders.some((_, each) => address === `203.0.113.${200 + each}`);

/** Plays a history with an attacker, and the same without him. Answers what was wrong, and what is another thing for others because of him. */
export async function brokenByAttack(history: History, options: WorldOptions = {}): Promise<readonly string[]> {
  const attacked = await run(history, options);
  if (attacked.broken.length > 0 || !history.attacker) return attacked.broken;
  const twin = await run(withoutAttacker(history), options);
  if (twin.broken.length > 0) return twin.broken.map((text) => `without the attacker: ${text}`);
  return differences(attacked, twin, history.attacker.isCalm);
}
