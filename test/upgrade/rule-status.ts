import type { History, Json, Mark, StatusRecord } from './history.ts';
import { isDown } from './rule-moves.ts';

type Fields = { readonly [field: string]: Json | undefined };

/** Written by every leader anew, and what one of several RoutedIPs of a firewall says for all of them. */
const NOT_OF_THE_OBJECT = new Set(['term', 'ownedRules']);
/** What versions of before do not know, and take away when they write a status. */
const NEW = new Set(['.class.provider', '.contendedUntil', '.routedIPCount', '.addresses']);
/** What never goes once it is there, while the object is. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  FloatingIPPool: ['ips', 'activeIPs', 'lastAssignmentTime', 'observedGeneration', 'conditions'],
  RoutedIP: ['routedIP', 'addressOrigin', 'class', 'state', 'lastAssignmentTime', 'observedGeneration', 'conditions'],
  NodeDNSRecordSet: ['state', 'records', 'observedGeneration', 'conditions'],
  Service: ['loadBalancer'],
  IPGroup: ['capacity', 'allocated', 'available', 'conditions'],
};
/** What never gets less. */
const RISING = ['term', 'epoch', 'lastAssignmentTime', 'observedGeneration'];
/** What never changes. */
const FIXED = ['origin', 'routedIP', 'addressOrigin', 'class'];

/** What a status said stays said, whichever version writes it: the status of an object that nobody touches keeps every field and value; in all others no field, condition or address goes that was
 *  there, times and counts never go back, and an address stays active while its node is well. */
export function statusKept({ statuses, marks, stages }: History): readonly string[] {
  const wrongs = stages.flatMap(({ number, rest }) =>
    rest.unowned.map((port) => `at the end of stage ${number} no status says that ${port} was opened`),
  );
  const seen = new Map<string, StatusRecord>();
  for (const record of statuses.toSorted((a, b) => a.at - b.at)) {
    const before = seen.get(record.object);
    seen.set(record.object, record);
    if (!before) continue;
    for (const wrong of between(before, record, marks)) wrongs.push(`${record.object}: ${wrong}`);
  }
  return wrongs;
}

function between(before: StatusRecord, after: StatusRecord, marks: readonly Mark[]): readonly string[] {
  if (isRemoved(marks, after) || before.status === null) return [];
  if (after.status === null) return ['it was deleted'];
  const [was, is] = [fieldsOf(before.status), fieldsOf(after.status)];
  const kind = after.object.split(' ')[0] ?? '';
  return [
    ...(KEPT[kind] ?? []).filter((field) => was[field] !== undefined && is[field] === undefined).map((field) => `${field} went`),
    ...conditionsGone(was, is),
    ...steps(was, is, ''),
    ...Object.keys(fieldsOf(was.ips)).flatMap((address) => addressWrongs(address, [was, is], after.at, marks)),
    ...(after.isQuiet ? changed(was, is, '') : []),
  ];
}

/** What has another value in `is`, or none: nothing is to be so in a status that nobody has a reason to change. What is added was not lost. */
function changed(was: Json | undefined, is: Json | undefined, path: string): readonly string[] {
  if (is === undefined && NEW.has(path)) return [];
  if (typeof was !== 'object' || was === null) return was === is ? [] : [`${path} was ${JSON.stringify(was)} and is ${JSON.stringify(is)}`];
  const now = fieldsOf(is);
  return Object.entries(was as Fields)
    .filter(([field]) => !NOT_OF_THE_OBJECT.has(field))
    .flatMap(([field, value]) => changed(value, now[field], `${path}.${field}`));
}

function steps(was: Fields, is: Fields, where: string): readonly string[] {
  const both = (names: readonly string[]) => names.filter((name) => was[name] !== undefined && is[name] !== undefined);
  return [
    ...both(RISING)
      .filter((name) => orderOf(is[name]) < orderOf(was[name]))
      .map((name) => `${where}${name} went from ${was[name]} back to ${is[name]}`),
    ...both(FIXED)
      .filter((name) => differs(was[name], is[name]))
      .map((name) => `${where}${name} was ${JSON.stringify(was[name])} and is ${JSON.stringify(is[name])}`),
  ];
}

/** In what both say: of two versions one may say more. */
function differs(was: Json | undefined, is: Json | undefined): boolean {
  if (typeof was !== 'object' || was === null) return was !== is;
  const now = fieldsOf(is);
  return Object.entries(was as Fields).some(([field, value]) => now[field] !== undefined && differs(value, now[field]));
}

const orderOf = (value: Json | undefined): number => (typeof value === 'string' ? Date.parse(value) : Number(value));

function conditionsGone(was: Fields, is: Fields): readonly string[] {
  const typesOf = ({ conditions }: Fields) => (Array.isArray(conditions) ? conditions : []).map((each) => String(fieldsOf(each).type));
  const now = typesOf(is);
  return typesOf(was)
    .filter((type) => !now.includes(type))
    .map((type) => `condition ${type} went`);
}

function addressWrongs(address: string, [was, is]: readonly [Fields, Fields], at: number, marks: readonly Mark[]): readonly string[] {
  const [before, after] = [was, is].map((status) => fieldsOf(fieldsOf(status.ips)[address]));
  if (!before || !after || after.state === undefined) return [`address ${address} went`];
  const wasWell = before.state === 'active' && !isDown(marks, String(before.nodeName), at);
  return [
    ...(before.origin !== undefined && after.origin === undefined ? [`${address}: origin went`] : []),
    ...steps(before, after, `${address}: `),
    ...(wasWell && after.state !== 'active' ? [`${address} was active on ${before.nodeName}, which is well, and is ${after.state}`] : []),
  ];
}

const fieldsOf = (value: Json | undefined): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const isRemoved = (marks: readonly Mark[], { object, at }: StatusRecord): boolean =>
  marks.some((mark) => mark.kind === 'removed' && mark.object === object && mark.at <= at);
