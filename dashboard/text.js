// Short texts for people. Pure, so that they are tested without a browser.

/** @typedef {import('./types.js').Row} Row */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `4 s`, `3 m 10 s`, `12 m`, `2 h 5 m`, `3 d 4 h`: the smaller unit only where the larger one alone would say little.
 * @param {number} ms */
export function span(ms) {
  const left = Math.max(0, ms);
  if (left < MINUTE) return `${Math.floor(left / SECOND)} s`;
  if (left < HOUR) return two(left, MINUTE, 'm', SECOND, 's');
  if (left < DAY) return two(left, HOUR, 'h', MINUTE, 'm');
  return two(left, DAY, 'd', HOUR, 'h');
}

/** @param {number} ms @param {number} large @param {string} largeUnit @param {number} small @param {string} smallUnit */
function two(ms, large, largeUnit, small, smallUnit) {
  const whole = Math.floor(ms / large);
  const rest = whole < 10 ? Math.floor((ms % large) / small) : 0;
  return `${whole} ${largeUnit}${rest > 0 ? ` ${rest} ${smallUnit}` : ''}`;
}

/** `5.00 USD`, `free`.
 * @param {number} amount @param {string | null} currency */
export const money = (amount, currency) => (amount === 0 ? 'free' : `${amount.toFixed(2)} ${currency}`);

/** Time of day with milliseconds, in the zone of whoever looks.
 * @param {number} at */
export function clock(at) {
  const time = new Date(at);
  /** @param {number} figure @param {number} digits */
  const padded = (figure, digits) => String(figure).padStart(digits, '0');
  return `${padded(time.getHours(), 2)}:${padded(time.getMinutes(), 2)}:${padded(time.getSeconds(), 2)}.${padded(time.getMilliseconds(), 3)}`;
}

/** What an actor waits for, on one line: `job assign`, `coolOff in 12 s`.
 * @param {Row} row @param {number} now */
export function waitsFor({ waiting }, now) {
  return waiting.map((one) => waitText(one, now)).join(', ');
}

/** @param {import('./types.js').Waiting} waiting @param {number} now */
export function waitText({ id, dueAt }, now) {
  if (dueAt === null) return `job ${id}`;
  return dueAt > now ? `${delayName(id)} in ${span(dueAt - now + 999)}` : `${delayName(id)} due`;
}

/** @param {string} id */
export function delayName(id) {
  return /^xstate\.after\.([^.]+)\./.exec(id)?.[1] ?? id;
}

/** An event as the charts name it: `assign done` for `xstate.done.actor.assign`.
 * @param {string} event */
export function eventText(event) {
  const [, how, what, id] = /^xstate\.(done|error)\.(actor|state)\.(.+)$/.exec(event) ?? [];
  if (how === 'error') return `${id} failed`;
  if (how === 'done') return what === 'actor' ? `${id} done` : 'done';
  const delay = /^xstate\.after\.([^.]+)\./.exec(event)?.[1];
  return delay ? `after ${delay}` : event;
}

/** What lies within the outermost state: `Waiting`, `acquiring Complete, granting Open`; empty when there is nothing.
 * @param {string} state as rows have it */
export function innerState(state) {
  const inner = state.slice((state.split('.')[0] ?? '').length + 1);
  return inner
    .split('|')
    .map((region) => region.replaceAll('.', ' '))
    .join(', ');
}

/** From where to where, without what stayed as it was: `Publishing → Complete` of a state with several regions.
 * @param {unknown} from @param {unknown} to */
export function moveText(from, to) {
  const [before, after] = [leaves(from), leaves(to)];
  const left = before.filter((leaf) => !after.includes(leaf));
  const entered = after.filter((leaf) => !before.includes(leaf));
  if (left.length === 0 && entered.length === 0) return `${after.join(', ')}, as before`;
  const shared = sharedPrefix([...left, ...entered]);
  /** @param {readonly string[]} paths @param {string} none */
  const shorter = (paths, none) => paths.map((path) => path.slice(shared.length)).join(', ') || none;
  return `${shorter(left, before.length === 0 ? 'new' : '…')} → ${shorter(entered, after.length === 0 ? 'gone' : '…')}`;
}

/** The innermost states of a state value, as paths.
 * @param {unknown} value @returns {string[]} */
export function leaves(value) {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([state, inner]) => {
    const within = leaves(inner);
    return within.length === 0 ? [state] : within.map((path) => `${state}.${path}`);
  });
}

/** What all paths begin with, up to a dot.
 * @param {readonly string[]} paths */
function sharedPrefix(paths) {
  let shared = '';
  for (const part of paths[0]?.split('.').slice(0, -1) ?? []) {
    if (!paths.every((path) => path.startsWith(`${shared}${part}.`))) break;
    shared += `${part}.`;
  }
  return shared;
}

/** Why a replica that does not lead shows nothing, and where there is something to see.
 * @param {import('./types.js').Leadership} leadership */
export function followerText({ leader, reach }) {
  const holder = leader ? `The leader is ${leader}.` : 'No leader is known.';
  return `This replica is not the leader: it runs no actors. ${holder}${reach ? ` To see them: ${reach}` : ''}`;
}

/** How a state looks: the colour says what kind of attention it wants.
 * @param {string} state @param {string} reason
 * @returns {'trouble' | 'busy' | 'wait' | 'ok' | 'done'} */
export function toneOf(state, reason) {
  const [outer = '', inner = ''] = state.split(/[.|]/);
  if (/^(CoolOff|Invalid|Failed|Error|Unclear)/.test(outer) || (reason !== '' && !/^(Stable|Serving)/.test(outer))) return 'trouble';
  if (/^(Stable|Serving|Idle|Active|Bound|Ready)$/.test(outer)) return 'ok';
  if (/^(Released|Gone|Stopped)$/.test(outer)) return 'done';
  if (/^(Waiting|Unassigned|Pending)/.test(outer) && !/ing$/.test(inner)) return 'wait';
  if (/^Waiting/.test(inner)) return 'wait';
  return 'busy';
}
