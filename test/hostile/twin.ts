import type { Address } from '../../machines/model/types.ts';
import { FIREWALLS, type History, ZONE } from '../simulation/history.ts';
import { brokenBy, Simulation } from '../simulation/run.ts';
import type { WorldOptions } from '../support/world.ts';
import type { AttackSetup } from './attacker.ts';
import { withoutAttacker } from './histories.ts';
import { Outages } from './outages.ts';

/** A failover may take so much longer while somebody attacks, ms. */
const LONGER_MS = 1_000;
/** So long one takes at most where nothing is waited for and there is room on other nodes, ms. */
const PROMPTLY_MS = 5_000;

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

/** By uid: the names of those who attack nobody. */
const victims = ({ made }: Simulation): ReadonlyMap<string, string> =>
  new Map(made.victims().map(({ ref }) => [ref.uid, `${ref.kind} ${ref.namespace}/${ref.name}`]));

/** What those have in the end who attack nobody, as text: by address the name of who has it. */
function owned(simulation: Simulation): ReadonlyMap<Address, string> {
  const { made } = simulation;
  const names = victims(simulation);
  return new Map(
    [...made.owners()].flatMap(([address, uid]) => {
      const name = names.get(uid);
      return name === undefined ? [] : [[address, name] as const];
    }),
  );
}

/** What is at the provider and on nodes, where nothing but an attack tells two runs apart. */
const shown = ({ world, history }: Simulation): Readonly<Record<string, unknown>> => ({
  marks: Object.entries(world.cluster.holders()).sort(),
  firewalls: FIREWALLS.map((name) => world.provider.cloud.findFirewall(name)).map(
    (each) => each && [each.name, [...each.ports].sort(), [...each.nodes].sort()],
  ),
  annotations: Object.entries(world.cluster.annotations()).sort(),
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

function differences({ simulation, outages }: Run, twin: Run, family: AttackSetup['family']): readonly string[] {
  const gained = simulation.attacker?.gained ?? new Set();
  const isAlone = family === 'calm' && gained.size === 0;
  const [now, then] = [owned(simulation), owned(twin.simulation)];
  const his = new Map(simulation.attacker?.claimants().map((claimant) => [claimant.ref.uid, claimant]));
  const owners = simulation.made.owners();
  // What nobody had whoever asks first may have, unless his account has it not.
  const mayHave = (address: Address, owner: string): boolean =>
    his.get(owner)?.account !== 'Lacks' && his.has(simulation.keepers.holderOf(address) ?? owner);
  // What is made has other numbers where he has some made as well; which of the others has an address, or asks for it still, may be a matter of moments.
  const isSame = (address: Address, owner: string): boolean =>
    family === 'wild' ? !his.has(owners.get(address) ?? '') || mayHave(address, owners.get(address) ?? '') : now.get(address) === owner;
  // One that was to be made again while its former self was still let go was refused, as the API server refuses it: how long that takes is a matter of moments.
  const there = new Set(victims(simulation).values());
  const taken = [...then]
    .filter(([, owner]) => there.has(owner))
    .filter(([address, owner]) => (isAlone || isThereFirst(simulation, address)) && !gained.has(address) && !isSame(address, owner))
    .map(([address, owner]) => `an attack takes what others have: ${address} of ${owner} is ${now.get(address) ?? 'not theirs'}`);
  if (family === 'wild') return taken;
  const addresses = [...then.keys()].filter((address) => isAlone || isThereFirst(simulation, address));
  const slower = addresses.flatMap((address) => heldUp(address, outages, twin.outages, isAlone));
  return [
    ...taken,
    ...slower,
    ...(isAlone && !isByMoments(simulation, twin.simulation, addresses)
      ? [...moved(simulation, twin.simulation, addresses), ...changed(simulation, twin.simulation)]
      : []),
  ];
}

/** Who gets a node on which two of different accounts meet is a matter of moments: the provider refuses the other one. So is which of several addresses of a node its
 *  annotation shows, and for which there is still room there; and which free node one gets that is assigned as often as without the attacker: what was listed last says
 *  which of them bear something. Of nodes that come back at once one is seen first, and a safe hold may be over by then. */
const isByMoments = (simulation: Simulation, twin: Simulation, addresses: readonly Address[]): boolean =>
  simulation.history.perNode > 1 ||
  simulation.world.provider.writes().some(({ result }) => result === 'NodeInUse') ||
  addresses.some(
    (address) =>
      simulation.world.holderIfAny(address) !== twin.world.holderIfAny(address) &&
      (assignsOf(simulation, address) === assignsOf(twin, address) || [simulation, twin].some((each) => isAfterHold(each, address))),
  );

/** Where a safe hold may have kept it, and all is out of the way by now. */
const isAfterHold = ({ history, world, mendedAt }: Simulation, address: Address): boolean =>
  (history.pools ?? []).some(({ rules }) => rules?.safeHold) && (world.provider.cloud.history(address).at(-1)?.at ?? 0) >= mendedAt;

const assignsOf = ({ world }: Simulation, address: Address): number =>
  world.provider.writes().filter(({ verb, args }) => verb === 'assignRoutedIP' && args[0] === address).length;

const moved = ({ world }: Simulation, twin: Simulation, addresses: readonly Address[]): readonly string[] =>
  addresses.flatMap((address) => {
    const [on, wasOn] = [world.holderIfAny(address), twin.world.holderIfAny(address)];
    return on === wasOn ? [] : [`an attack moves what others have: ${address} is on ${on}, not ${wasOn}`];
  });

function changed(simulation: Simulation, twin: Simulation): readonly string[] {
  const wasShown = shown(twin);
  return Object.entries(shown(simulation)).flatMap(([what, is]) => {
    const [text, was] = [JSON.stringify(is), JSON.stringify(wasShown[what])];
    return text === was ? [] : [`an attack changes ${what}: ${text}, not ${was}`];
  });
}

/** Of who has the same nodes each failover is compared with the same one; of others with the longest. Of several free nodes another one than without the attacker may be chosen, and
 *  fail in its turn: on which one it stood counts, too. */
function heldUp(address: Address, now: Outages, then: Outages, isAlone: boolean): readonly string[] {
  const former = then.of(address);
  const longest = Math.max(PROMPTLY_MS, ...former.map(({ ms }) => ms));
  return now.of(address).flatMap(({ from, ms }) => {
    const same = former.filter((each) => Math.abs(each.from - from) <= LONGER_MS).map((each) => each.ms);
    const usual = isAlone ? Math.max(0, ...same) : longest;
    const [chosen, wasChosen] = [now, then].map((each) => each.chosen(address, from, from + usual + LONGER_MS));
    const isOther =
      (chosen !== null && wasChosen !== null && chosen !== wasChosen) ||
      now.holderBefore(address, from) !== then.holderBefore(address, from);
    return ms <= usual + LONGER_MS || isOther
      ? []
      : [`an attack holds up a failover: ${address} was out for ${ms} ms from ${from} on, not ${usual}`];
  });
}

const isThereFirst = ({ history }: Simulation, address: Address): boolean =>
  history.holders.some((_, each) => address === `203.0.113.${200 + each}`);

/** Whether what happened last was noticed before it was mended would be a matter of moments. */
const SETTLES_MS = 5_000;

/** Plays a history; one with an attacker without him, too. Answers what was wrong, and what is another thing for others because of him. */
export async function brokenByAttack(played: History, options: WorldOptions = {}): Promise<readonly string[]> {
  const { attacker } = played;
  if (!attacker) return brokenBy(new Simulation(played, options));
  const history = { ...played, settlesMs: SETTLES_MS };
  const attacked = await run(history, options);
  if (attacked.broken.length > 0) return attacked.broken;
  const twin = await run(withoutAttacker(history), options);
  if (twin.broken.length > 0) return twin.broken.map((text) => `without the attacker: ${text}`);
  return differences(attacked, twin, attacker.family);
}
