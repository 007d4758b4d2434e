import type { Json } from '../../../simulator/kubernetes/objects.ts';
import type { Allowed } from './differences.ts';

type Judgement = NonNullable<Allowed['when']>;

const both =
  (pattern: RegExp): Judgement =>
  (ours, theirs) =>
    [ours, theirs].every((value) => pattern.test(String(value)));

/** The same but for what the pattern finds. */
const but =
  (pattern: RegExp): Judgement =>
  (ours, theirs) =>
    typeof ours === 'string' && typeof theirs === 'string' && ours.replaceAll(pattern, '*') === theirs.replaceAll(pattern, '*');

const begins = (text: string): Judgement => both(new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));

/** Theirs says more after what ours says. */
const longer: Judgement = (ours, theirs) => typeof ours === 'string' && typeof theirs === 'string' && theirs.startsWith(ours);

const ZEROS: readonly (Json | undefined)[] = [null, '', 0, false, '{}', '[]'];

const UID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$/;

/** What may differ between the simulator and a real server, and why. Whatever else differs is a defect of the simulator; a line that no answer needs any more has to go. */
export const ALLOWED: readonly Allowed[] = [
  { reason: 'every object has an id of its own', path: /\.uid$/, when: both(/^[0-9a-f-]{36}$/) },
  { reason: 'each server counts its own writes', path: /\.resourceVersion$/, when: both(/^\d+$/) },
  {
    reason: 'a server writes down when something was done',
    byChance: true,
    path: /\.(creation|deletion)Timestamp$|\.last\w+Time$/,
    when: both(TIME),
  },
  { reason: 'how old an object is depends on the second', byChance: true, path: /^body\.rows.*\.cells/, when: both(/^\d+s( \(.*\))?$/) },
  {
    reason: 'each server gives addresses of its own range',
    byChance: true,
    path: /\.(clusterIP|clusterIPs\[\d+\])$/,
    when: both(/^10\.\d+\.\d+\.\d+$/),
  },
  {
    reason: 'each server gives addresses of its own range',
    byChance: true,
    at: /^prints services/,
    path: /\.cells\[2\]$/,
    when: both(/^10\.\d+\.\d+\.\d+$/),
  },
  { reason: 'a free port of the nodes, as it comes', byChance: true, path: /\.nodePort$/, when: both(/^3[0-2]\d{3}$/) },
  {
    reason: 'where a list goes on is for the server alone to read',
    path: /^body\.metadata\.continue$/,
    when: both(/^eyJ2IjoibWV0YS5rOHMuaW8vdjEi/),
  },
  { reason: 'a message names an object by its id', path: /message$/, when: but(UID) },
  {
    reason: 'Go writes members that it has no value for; to a client of typed APIs both say the same',
    path: /^body\./,
    when: (ours, theirs) => ours === undefined && ZEROS.includes(theirs),
  },
  { reason: 'who wrote what is recorded by the simulator from the first server-side apply on', path: /\.managedFields/ },
  {
    reason: 'therefore it does not know who created an object that is applied later',
    at: /^refuses an applied change of what was created plainly/,
    path: /message$/,
    when: but(/before-first-apply|unknown/g),
  },
  {
    reason: 'new nodes are tainted as not ready until a controller finds that they are; here none runs, and tests would wait for it',
    at: /^creates a node/,
    path: /^body\.spec\.taints\[0\]\.(key|effect)$/,
    when: (ours) => ours === undefined,
  },
  { reason: 'descriptions of columns are for people', path: /^body\.columnDefinitions\[.*\]\.description$/ },
  {
    reason: 'the message shows the change as the Go structs of the server have it',
    at: /^refuses a change of a pod spec/,
    path: /message$/,
    when: longer,
  },
  {
    reason: 'the message shows a place in the source of the server',
    at: /^refuses another apiVersion/,
    path: /^body\.message$/,
    when: longer,
  },
  {
    reason: 'the message shows what the Go decoder was to fill',
    at: /^refuses a body that is a list/,
    path: /^body\.message$/,
    when: longer,
  },
  {
    reason: 'the Go decoder names a map where the simulator names its member',
    at: /^refuses a value of a wrong type/,
    path: /^body\.message$/,
    when: but(/ConfigMap\.data(\.a)?/g),
  },
  {
    reason: 'the message shows where the Go decoder stopped',
    at: /^refuses a malformed continue token/,
    path: /^body\.message$/,
    when: begins('invalid continue token: continue key is not valid: '),
  },
  {
    reason: 'the parsers stop at different places',
    at: /^refuses a malformed label (selector|value)/,
    path: /^body\.message$/,
    when: (_ours, theirs) => /found '/.test(String(theirs)),
  },
];
