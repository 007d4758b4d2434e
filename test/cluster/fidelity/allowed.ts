import type { Json } from '../../../simulator/kubernetes/objects.ts';
import { MEMBER } from './answer.ts';
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

/** Each is among theirs, and they come in that order. */
const inOrder: Judgement = (ours, theirs) => {
  const all = String(theirs ?? '').split(' ');
  let at = -1;
  return String(ours ?? '')
    .split(' ')
    .every((each) => {
      const found = all.indexOf(each, at + 1);
      at = found < 0 ? all.length : found;
      return ours === undefined || found >= 0;
    });
};

const OWN =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b10\.\d+\.\d+\.\d+|\b3[0-2]\d{3}\b|\d{4}-\d\d-\d\d[T ][\d:.]+|\w{3}, \d\d \w{3} \d{4} [\d:]+|\b\d+s\b|(?<=Resource Version: +)\d+|(?<=\/(?:LIVE|MERGED)-)\d+/g;

/** A line without what is the own of a server. */
const bare = (line: string): string => line.replaceAll(OWN, '*').replaceAll(/\s+/g, ' ');

const UID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$/;

/** What may differ between the simulator and a real server, and why. Whatever else differs is a defect of the simulator; a line that no answer needs any more has to go. */
export const ALLOWED: readonly Allowed[] = [
  { reason: 'every object has an id of its own', path: /\.uid$/, when: both(/^[0-9a-f-]{36}$/) },
  { reason: 'each server counts its own writes', path: /\.resourceVersion$/, when: both(/^\d+$/) },
  {
    reason: 'a server writes down when something was done',
    byChance: true,
    path: /\.(creation|deletion)Timestamp$|\.last\w+Time$|\.startedAt$|\.(startTime)$/,
    when: both(TIME),
  },
  {
    reason: 'how old an object is depends on the second',
    byChance: true,
    path: /(^|: )body\.rows.*\.cells/,
    when: both(/^\d+s( \(.*\))?$/),
  },
  {
    reason: 'each server gives addresses of its own range',
    byChance: true,
    path: /\.(clusterIP|clusterIPs\[\d+\])$/,
    when: both(/^10\.\d+\.\d+\.\d+$/),
  },
  {
    reason: 'each server gives addresses of its own range',
    byChance: true,
    path: /\.cells\[2\]$/,
    when: both(/^10\.\d+\.\d+\.\d+$/),
  },
  { reason: 'a free port of the nodes, as it comes', byChance: true, path: /\.nodePort$/, when: both(/^3[0-2]\d{3}$/) },
  {
    reason: 'where a list goes on is for the server alone to read',
    path: /(^|: )body\.metadata\.continue$/,
    when: both(/^eyJ2IjoibWV0YS5rOHMuaW8vdjEi/),
  },
  { reason: 'a message names an object by its id', path: /message$/, when: but(UID) },
  {
    reason: 'Go writes members that it has no value for; to a client of typed APIs both say the same',
    path: /(^|: )body\.|^stdout\./,
    when: (ours, theirs) => ours === undefined && ZEROS.includes(theirs),
  },
  {
    reason:
      'who wrote what is recorded by the simulator from the first server-side apply on, and of Services from the first write of the status',
    path: /\.managedFields/,
  },
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
  { reason: 'descriptions of columns are for people', path: /(^|: )body\.columnDefinitions\[.*\]\.description$/ },
  {
    reason: 'the message shows the change as the Go structs of the server have it',
    at: /^refuses a change of a pod spec/,
    path: /message$/,
    when: longer,
  },
  {
    reason: 'the message shows a place in the source of the server',
    at: /^refuses another apiVersion/,
    path: /(^|: )body\.message$/,
    when: longer,
  },
  {
    reason: 'the message shows what the Go decoder was to fill',
    at: /^refuses a body that is a list/,
    path: /(^|: )body\.message$/,
    when: longer,
  },
  {
    reason: 'the Go decoder names a map where the simulator names its member',
    at: /^refuses a value of a wrong type/,
    path: /(^|: )body\.message$/,
    when: but(/ConfigMap\.data(\.a)?/g),
  },
  {
    reason: 'the message shows where the Go decoder stopped',
    at: /^refuses a malformed continue token/,
    path: /(^|: )body\.message$/,
    when: begins('invalid continue token: continue key is not valid: '),
  },
  {
    reason: 'the parsers stop at different places',
    at: /^refuses a malformed label (selector|value)/,
    path: /(^|: )body\.message$/,
    when: (_ours, theirs) => /found '/.test(String(theirs)),
  },
  {
    reason: 'kubectl prints ids, times, ages, addresses and ports that are the own of each server, and as much room as they take',
    byChance: true,
    path: /^(stdout|stderr) line/,
    when: (ours, theirs) => typeof ours === 'string' && typeof theirs === 'string' && ours !== theirs && bare(ours) === bare(theirs),
  },
  { reason: 'each edition of a document has a tag of its own', path: /header etag$/, when: both(/^"[0-9A-F]+"$/) },
  {
    reason: 'the simulator serves the kinds that somebody here meets',
    path: /\/apis?(\/[\w./]+)?(\?timeout=32s)?: body\.\w+\[[^\]]*\](\.versions\[[^\]]*\](\.resources\[[^\]]*\](\.subresources\[[^\]]*\])?)?)?$/,
    when: (ours, theirs) => ours === undefined && theirs === MEMBER,
  },
  {
    reason: 'therefore lists of kinds are shorter, in the same order',
    path: /\/apis?(\/[\w./]+)?(\?timeout=32s)?: body\..*\(order\)$/,
    when: inOrder,
  },
  { reason: 'therefore kubectl prints fewer of them', at: /kubectl api-/, path: /^stdout has /, when: (ours) => ours === undefined },
  {
    reason: 'the simulator serves the kinds that somebody here meets',
    path: /^GET .*\/(replicationcontrollers|horizontalpodautoscalers|resourceslices)\?/,
  },
  {
    reason: 'of kinds that nobody here meets it prints names and ages',
    path: /\/(daemonsets|replicasets|cronjobs)\?limit=500: body\.columnDefinitions/,
    when: (ours, theirs) => ours === undefined || ours === 'Name Age' || theirs === undefined,
  },
  { reason: 'a free port of the nodes, as it comes', byChance: true, path: /\.cells\[4\]$/, when: but(/:3[0-2]\d{3}\//g) },
  { reason: 'the labels of a Job and its Pod name the Job by its id', path: /controller-uid$|\.cells\[7\]$/, when: but(UID) },
  {
    reason: 'a server writes down when something was done',
    byChance: true,
    at: /kubectl get crd /,
    path: /\.cells\[1\]$/,
    when: both(TIME),
  },
  { reason: 'how and when the server was built', path: /\/version\?.*: body\.(buildDate|compiler|gitCommit|goVersion)$/ },
  { reason: 'a hash, for comparison with others of the same server', path: /\.storageVersionHash$/ },
  {
    reason: 'the real server knows the schemas of built-in kinds with the values that they take, the simulator those of the client library',
    at: /kubectl explain (node\.spec\.taints|floatingippools --recursive)/,
    path: /^stdout line/,
  },
  {
    reason: 'a real server composes the index of schemas anew from time to time, and tells by the time of that who has it already',
    byChance: true,
    path: /^GET \/openapi\/v3\?timeout=32s( \(\d\))?: (status code|header content-type|body|header etag)$/,
  },
  {
    reason: 'who wrote what is recorded by the simulator from the first server-side apply on: kubectl makes it over then',
    at: /kubectl apply --server-side/,
    path: /: sent\[/,
  },
  {
    reason: 'a controller takes as long as it takes to empty a namespace: it is terminating until then',
    byChance: true,
    at: /kubectl delete namespace walk/,
    path: /^GET \/api\/v1\/namespaces\/walk/,
  },
  {
    reason: 'a real server lists the kinds of a group of definitions in no order',
    byChance: true,
    path: /\/apis\/[\w.]+\/\w+: body\.resources\(order\)$/,
    when: (ours, theirs) => String(ours).split(' ').sort().join() === String(theirs).split(' ').sort().join(),
  },
];
