import { ends, statesOf } from './reached.ts';
import type { RoutedHappening, RoutedMark } from './routed-steps.ts';

const IN_A_BREATH = 'left within the turn that enters it: never stored';
const AT_ONCE_GONE = 'final: the record goes with it';
const CHARTS = ['ip', 'firewall', 'verification'] as const;

/** States that these histories do not come to, with the reason. */
export const NOT_REACHED: Readonly<Record<string, string>> = {
  'ip is in Unassigned.Knowing': IN_A_BREATH,
  'ip is in Electing.Choosing': IN_A_BREATH,
  'ip is in Electing.Going': IN_A_BREATH,
  'ip is in Released': AT_ONCE_GONE,
  'firewall is in Deciding': IN_A_BREATH,
  'firewall is in Ended': AT_ONCE_GONE,
  'verification is in Ended': AT_ONCE_GONE,
};

type MarkKind = RoutedMark['kind'] | 'evacuate' | 'stay';

/** Every kind of happening but those of marks, by the compiler's word. */
const HAPPENINGS: Readonly<Record<Exclude<RoutedHappening['kind'], MarkKind>, true>> = {
  ports: true,
  endpoints: true,
  serviceGoes: true,
  serviceComes: true,
  serviceOdd: true,
  serviceUsual: true,
  policy: true,
  breakPolicy: true,
  mendPolicy: true,
  removePolicy: true,
  makePolicy: true,
  secretGoes: true,
  secretComes: true,
  refuseToken: true,
  newToken: true,
  make: true,
  remove: true,
  force: true,
  ask: true,
  use: true,
  list: true,
  firewallGoes: true,
  firewallComes: true,
  fillRules: true,
  fillNodes: true,
  makeRoom: true,
  addRule: true,
  removeRule: true,
  closeRule: true,
  takeNode: true,
  killAt: true,
  moveByHand: true,
  deleteByHand: true,
  restoreByHand: true,
  lockByHand: true,
  start: true,
  kill: true,
  killAll: true,
  stop: true,
  freeze: true,
  deleteLease: true,
  cutLease: true,
  mendLease: true,
  storeDown: true,
  storeUp: true,
  queuesDown: true,
  queuesUp: true,
  failWrites: true,
  mendWrites: true,
  loseReplies: true,
  repeatJobs: true,
  wipeQueues: true,
  wipe: true,
  wipeAtRest: true,
  goBack: true,
  fault: true,
  staleReads: true,
  jump: true,
  failActions: true,
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
  taint: true,
  exclude: true,
  relieve: true,
  untaint: true,
};

/** What the histories of one seed must come to, together. */
export const TO_REACH: Readonly<Record<string, readonly string[]>> = {
  'every state of addresses, firewalls and verifications': CHARTS.flatMap(statesOf).filter((words) => !(words in NOT_REACHED)),
  'everything that may happen': Object.keys(HAPPENINGS).map((kind) => `happens: ${kind}`),
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
  'every end of an assign': ends('assignRoutedIP', 'ok', 'InProgress', 'NodeInUse', 'Invalid', 'NotFound', 'lost', 'hung', 'trouble'),
  'addresses that are made and given back': [...ends('createRoutedIP', 'ok', 'trouble'), ...ends('deleteRoutedIP', 'ok')],
  'what a RoutedIP may say of its firewall': ['FirewallOpened', 'FirewallClosed', 'NothingToOpen', 'NoFirewall', 'Opening'].map(
    (reason) => `says: ${reason}`,
  ),
};

const MARKS: Readonly<Record<MarkKind, true>> = { pause: true, resume: true, moveTo: true, evacuate: true, stay: true };

/** What histories with marks must come to, together. */
export const MARKED_TO_REACH: Readonly<Record<string, readonly string[]>> = {
  'everything that people may ask for by marks': Object.keys(MARKS).map((kind) => `happens: ${kind}`),
  'what a RoutedIP may say of them': ['Paused', 'Draining', 'MoveRequested'].map((reason) => `says: ${reason}`),
};
