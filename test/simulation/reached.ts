import { charts } from '../../actors/controllers/chart-registry.ts';
import type { Transition } from '../../actors/ports/observers.ts';
import { DEFAULT_SETTINGS } from '../../actors/ports/settings.ts';
import type { Verb } from '../../adapters/memory/requests.ts';
import type { RecordSetContext } from '../../machines/dns/record-set.ts';
import type { ActorId, ErrorKind } from '../../machines/model/types.ts';
import type { World } from '../support/world.ts';
import type { DomainName, Happenings } from './history.ts';
import type { Simulation } from './run.ts';

/** How a call ends that did not do what it was to do, and is heard of. */
const TROUBLES: readonly string[] = ['Unavailable', 'Unauthorized', 'RateLimited', 'lost', 'hung', 'noConnection'];

/** How a call for Services ends that no error answers. */
const ENDS: readonly string[] = ['done', 'unchanged', 'fenced', 'lost'];

const classOf = (verb: Verb): string => {
  if (verb.includes('DNS')) return 'a call for records';
  return /^(?:find|list)/.test(verb) ? 'a read' : 'a write';
};

/** A state of a chart as its configuration and as a snapshot name it. */
type StateConfigs = Readonly<Record<string, { readonly states?: StateConfigs }>>;
type Value = string | { readonly [state: string]: Value };

/** What histories have come to, in words: `pool is in Priming`, `assignRoutedIP: ok`, `fails: NotFound`, `says: SafeHold`, `happens: nodes cordon`, and more. */
export class Reached {
  readonly words = new Set<string>();

  note({ world, history, happens }: Simulation): void {
    for (const { in: domain, what } of history.steps) this.words.add(`happens: ${domain} ${what.kind}`);
    this.#noteCalls(world);
    this.#noteLog(world);
    for (const { conditions } of world.cluster.projections) for (const { reason } of conditions) this.words.add(`says: ${reason}`);
    for (const { transitions } of world.invariants.turns) for (const transition of transitions) this.#noteStates(transition);
    if (!happens('stores', 'jump')) this.#noteAdoptions(world);
  }

  #noteCalls({ vips, provider }: World): void {
    for (const { verb, result } of vips?.writes ?? []) this.words.add(`${verb}: ${ENDS.includes(result) ? result : 'error'}`);
    for (const { verb, result } of provider.calls) {
      this.words.add(`${verb}: ${result}`).add(`${classOf(verb)}: ${result}`);
      if (TROUBLES.includes(result)) this.words.add(`${verb}: trouble`);
    }
  }

  #noteLog({ log }: World): void {
    for (const { message, fields } of log) {
      if (message === WITHOUT_STORE) this.words.add(message);
      if (message !== 'a job failed') continue;
      const { jobName, reason } = fields as { readonly jobName: string; readonly reason: string };
      this.words.add(`fails: ${reason}`).add(`${jobName} fails: ${reason}`);
    }
  }

  missing(wanted: readonly string[]): readonly string[] {
    return wanted.filter((words) => !this.words.has(words));
  }

  #noteStates({ chart, events, before, after }: Transition): void {
    for (const record of [before, after])
      for (const path of pathsOf((record?.snapshot.value ?? {}) as Value)) this.words.add(`${chart} is in ${path}`);
    const isStable = JSON.stringify(after?.snapshot.value ?? '').includes('Stable');
    if (chart === 'ip' && isStable && events.includes('NODE_GRANTED')) this.words.add('an address stays on the node that has it');
  }

  /** A record set that finds all as it is to be when it is asked for the first time. */
  #noteAdoptions(world: World): void {
    const writes = world.provider.writes().filter(({ verb }) => verb.endsWith('DNSRecord'));
    const begun = new Map<ActorId, number>();
    for (const { at, actor, before, after } of this.#recordSetTurns(world)) {
      if (!before) begun.set(actor, at);
      const start = begun.get(actor);
      if (start === undefined || after?.snapshot.value !== 'Published') continue;
      begun.delete(actor);
      const isWritten = writes.some((write) => write.at >= start && write.at <= at);
      const { addresses } = after.snapshot.context as unknown as RecordSetContext;
      if (addresses.length > 0 && !isWritten) this.words.add('records that stand already are adopted');
    }
  }

  /** With virtual times, which hold for histories without a jump of the wall clock. */
  #recordSetTurns({ clock, invariants }: World): readonly (Transition & { readonly at: number })[] {
    const offset = clock.now() - clock.monotonic();
    return invariants.turns.flatMap(({ at, transitions }) =>
      transitions.filter(({ chart }) => chart === 'dns-record-set').map((transition) => ({ ...transition, at: at - offset })),
    );
  }
}

/** `Serving.naming.Named` and its like: every state that has none within. */
const pathsOf = (value: Value): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : Object.entries(value).flatMap(([state, inner]) => {
        const paths = pathsOf(inner);
        return paths.length > 0 ? paths.map((path) => `${state}.${path}`) : [state];
      });

const leaves = (states: StateConfigs): readonly string[] =>
  Object.entries(states).flatMap(([state, { states: inner }]) => (inner ? leaves(inner).map((path) => `${state}.${path}`) : [state]));

/** Every state of a chart that has none within, as `Reached` words it. @throws Error for a chart that there is none of */
function statesOf(chart: string): readonly string[] {
  const found = charts(DEFAULT_SETTINGS, () => 1)[chart];
  if (!found) throw new Error(`there is no chart ${chart}`);
  return leaves(found.machine.config.states as unknown as StateConfigs).map((path) => `${chart} is in ${path}`);
}

const CHARTS = ['pool', 'ip', 'firewall', 'dns-zone', 'dns-record-set', 'verification', 'vip-service', 'virtual-ip'] as const;

const IN_A_BREATH = 'left within the turn that enters it: never stored';
const AT_ONCE_GONE = 'final: the record goes with it';

/** States that histories do not come to, with the reason. */
export const NOT_REACHED: Readonly<Record<string, string>> = {
  'pool is in Stopping.Concluding': IN_A_BREATH,
  'pool is in Stopping.Found': IN_A_BREATH,
  'pool is in Gone': AT_ONCE_GONE,
  'ip is in Unassigned.Knowing': IN_A_BREATH,
  'ip is in Electing.Choosing': IN_A_BREATH,
  'ip is in Electing.Going': IN_A_BREATH,
  'ip is in Released': AT_ONCE_GONE,
  'firewall is in Deciding': IN_A_BREATH,
  'firewall is in Ended': AT_ONCE_GONE,
  'dns-zone is in Unclaimed': AT_ONCE_GONE,
  'dns-record-set is in Gone': AT_ONCE_GONE,
  'verification is in Ended': AT_ONCE_GONE,
  'vip-service is in Gone': AT_ONCE_GONE,
  'virtual-ip is in Resuming': IN_A_BREATH,
  'virtual-ip is in Gone': AT_ONCE_GONE,
};

export const STATES: readonly string[] = CHARTS.flatMap(statesOf);

/** Every kind of happening, by the compiler's word. */
const HAPPENINGS: { readonly [D in Exclude<DomainName, 'attacker'>]: Readonly<Record<Happenings[D]['kind'], true>> } = {
  nodes: {
    nodeFails: true,
    nodeRecovers: true,
    nodeGoes: true,
    nodeComes: true,
    nodeEnds: true,
    machineGoes: true,
    machineDies: true,
    cordon: true,
    uncordon: true,
    doom: true,
    spare: true,
    taint: true,
    exclude: true,
    relieve: true,
    untaint: true,
    evacuate: true,
    stay: true,
  },
  people: { moveByHand: true, deleteByHand: true, restoreByHand: true, lockByHand: true, makeByHand: true },
  provider: { fault: true, staleReads: true, failActions: true, partialLists: true },
  api: { fault: true, hold: true, tell: true },
  watches: { late: true, stale: true },
  jobs: { script: true, deleteJobs: true, refuseJobs: true, allowJobs: true, loseJobs: true },
  processes: {
    start: true,
    kill: true,
    killAll: true,
    restart: true,
    stop: true,
    freeze: true,
    deleteLease: true,
    cutLease: true,
    mendLease: true,
    cutStore: true,
    mendStore: true,
    killAt: true,
  },
  stores: {
    storeDown: true,
    storeUp: true,
    queuesDown: true,
    queuesUp: true,
    redisDown: true,
    redisUp: true,
    failWrites: true,
    mendWrites: true,
    goBack: true,
    wipe: true,
    wipeAtRest: true,
    wipeQueues: true,
    repeatJobs: true,
    failOver: true,
    replace: true,
    loseReplies: true,
    jump: true,
  },
  pools: {
    list: true,
    coolOff: true,
    rules: true,
    breakSpec: true,
    mendSpec: true,
    removePool: true,
    makePool: true,
    recreate: true,
    want: true,
    name: true,
    pause: true,
    resume: true,
    moveTo: true,
    park: true,
    takeBack: true,
  },
  names: {
    nameNodes: true,
    removeNodeSet: true,
    breakNodeSet: true,
    mendNodeSet: true,
    dropRecord: true,
    changeRecord: true,
    addRecord: true,
    addAlias: true,
  },
  routed: { make: true, remove: true, force: true, recreate: true, ask: true, use: true, pause: true, resume: true, moveTo: true },
  policies: {
    policy: true,
    breakPolicy: true,
    mendPolicy: true,
    removePolicy: true,
    makePolicy: true,
    secretGoes: true,
    secretComes: true,
    refuseToken: true,
    newToken: true,
  },
  services: { ports: true, endpoints: true, serviceGoes: true, serviceComes: true, serviceOdd: true, serviceUsual: true },
  firewalls: {
    firewallGoes: true,
    firewallComes: true,
    fillRules: true,
    fewRules: true,
    fillNodes: true,
    makeRoom: true,
    addRule: true,
    removeRule: true,
    closeRule: true,
    takeNode: true,
    hangs: true,
    applies: true,
  },
  vips: {
    create: true,
    delete: true,
    deleteByForce: true,
    recreate: true,
    takeFinalizer: true,
    type: true,
    ask: true,
    annotate: true,
    pin: true,
    list: true,
    group: true,
    reserve: true,
    unreserve: true,
  },
  virtualIPs: {
    make: true,
    remove: true,
    migrate: true,
    withdraw: true,
    point: true,
    create: true,
    delete: true,
    label: true,
    type: true,
    dropClone: true,
    changeClone: true,
    balancerComes: true,
    balancerGoes: true,
    group: true,
    uninstall: true,
    install: true,
  },
};

const READS = ['findRoutedIP', 'listRoutedIPs', 'findNode', 'listDNSRecords'] as const;
const ends = (verb: string, ...results: readonly string[]): readonly string[] => results.map((result) => `${verb}: ${result}`);
const says = (...reasons: readonly string[]): readonly string[] => reasons.map((reason) => `says: ${reason}`);

/** What a process logs that does. */
const WITHOUT_STORE = 'goes on without the store';

/** What the histories of the fixed seeds must come to, together. */
export const TO_REACH: Readonly<Record<string, readonly string[]>> = {
  'every state': STATES.filter((words) => !(words in NOT_REACHED)),
  'everything that may happen': Object.entries(HAPPENINGS).flatMap(([domain, kinds]) =>
    Object.keys(kinds).map((kind) => `happens: ${domain} ${kind}`),
  ),
  'every end of a creation': ends('createRoutedIP', 'ok', 'Invalid', 'lost', 'hung', 'trouble'),
  'addresses that are given back': ends('deleteRoutedIP', 'ok'),
  'every end of an assign': [
    ...ends('assignRoutedIP', 'ok', 'fenced', 'InProgress', 'NodeInUse', 'Invalid', 'NotFound', 'Conflict', 'lost', 'hung', 'trouble'),
    'an address stays on the node that has it',
  ],
  'every read, well and in trouble': READS.flatMap((verb) => ends(verb, 'ok', 'trouble')),
  'records that are created, updated, deleted and adopted': [
    ...(['createDNSRecord', 'updateDNSRecord', 'deleteDNSRecord'] as const).flatMap((verb) => ends(verb, 'ok', 'trouble')),
    'records that stand already are adopted',
  ],
  'every end of a change of a firewall': [
    ...ends('addRoutedIPFirewallPort', 'ok', 'trouble'),
    ...ends('addRoutedIPFirewallNode', 'ok', 'trouble'),
    ...ends('deleteRoutedIPFirewallPort', 'ok'),
    ...ends('deleteRoutedIPFirewallNode', 'ok'),
  ],
  'every look at firewalls, well and in trouble': [
    ...ends('findRoutedIPFirewall', 'ok', 'trouble'),
    ...ends('listRoutedIPFirewalls', 'ok'),
  ],
  'every trouble with a call': ['a read', 'a write', 'a call for records'].flatMap((call) =>
    TROUBLES.map((result) => `${call}: ${result}`),
  ),
  'every refusal of a record': ends('a call for records', 'NotFound', 'Conflict', 'Invalid'),
  // A limit is waited out and is no failure; nothing that is asked for here is unsupported.
  'every kind of failure': (
    ['NotFound', 'InProgress', 'NodeInUse', 'Conflict', 'Unauthorized', 'Invalid', 'Unavailable'] satisfies readonly ErrorKind[]
  ).map((kind) => `fails: ${kind}`),
  'what a RoutedIP may say of its firewall': says('FirewallOpened', 'FirewallClosed', 'NothingToOpen', 'NoFirewall', 'Opening'),
  'processes that go on without the store': [WITHOUT_STORE],
  'what is said of addresses that are not taken': says('HeldElsewhere', 'AdoptionNotAllowed'),
  'what is said of marks': says('Paused', 'Draining', 'MoveRequested'),
  'every end of a call for an IP': ['guard', 'reserve', 'publish', 'free', 'unguard'].flatMap((verb) =>
    ends(verb, 'done', 'lost', 'error'),
  ),
  'every call for a migration': ['reassociate', 'letGo', 'convert', 'setIngress', 'settle', 'deleteClone'].flatMap((verb) =>
    ends(verb, 'done'),
  ),
};
