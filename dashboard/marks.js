// What of a chart is live, and which arrows the last transition took. Pure, so that it is tested without a browser.

import { edgeId, edgeSource, everyState, isWithin } from './graph.js';

/** @typedef {import('./types.js').State} State */
/** @typedef {import('./types.js').Definition} Definition */
/** @typedef {import('./types.js').Move} Move */
/** @typedef {import('./types.js').JournalEntry} JournalEntry */

/** Ids of all states that a state value stands for: the root, what lies between, the innermost ones.
 * @param {State} root @param {unknown} value @returns {Set<string>} */
export function liveStates(root, value) {
  const live = new Set([root.id]);
  for (const [key, inner] of entriesOf(value)) {
    const child = root.states.find((state) => state.key === key);
    if (child) for (const id of liveStates(child, inner)) live.add(id);
  }
  return live;
}

/** @param {unknown} value @returns {readonly (readonly [string, unknown])[]} */
function entriesOf(value) {
  if (typeof value === 'string') return [[value, null]];
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** Ids of the arrows from the state before to the state after: that of the event, then those that followed by themselves. Empty when nothing was left,
 *  or when the journal names no event of this chart.
 * @param {Definition} definition @param {Move | JournalEntry} entry @returns {readonly string[]} */
export function lastArrows({ root }, { event, from, to }) {
  const states = new Map([...everyState(root)].map((state) => [state.id, state]));
  const before = liveStates(root, from);
  const after = liveStates(root, to);
  const innermostFirst = [...before].sort((a, b) => b.length - a.length);
  const candidates = innermostFirst.flatMap((source) => targetsOf(states, source, event));
  return shortestOf(candidates.map(([source, target]) => follow(states, source, target, after, 0))) ?? [];
}

/** Where `event` leads from `source`, in the order in which the chart tries it.
 * @param {ReadonlyMap<string, State>} states @param {string} source @param {string} event @returns {(readonly [string, string])[]} */
const targetsOf = (states, source, event) =>
  (states.get(source)?.transitions ?? [])
    .filter((transition) => transition.event === event)
    .flatMap(({ targets }) => targets.map((target) => /** @type {const} */ ([source, target])));

/** More steps than any chart takes by itself in one go. */
const DEEPEST = 6;

/** @param {ReadonlyMap<string, State>} states @param {string} source @param {string} target @param {ReadonlySet<string>} after @param {number} depth
 * @returns {readonly string[] | null} */
function follow(states, source, target, after, depth) {
  const entered = enteredWith(states, target);
  const arrows = source === target ? [] : [edgeId(edgeSource(source, target), target)];
  if (entered.every((id) => after.has(id))) return arrows;
  if (depth >= DEEPEST) return null;
  const ways = entered.flatMap((state) => byThemselves(states, state)).map(([id, next]) => follow(states, id, next, after, depth + 1));
  const shortest = shortestOf(ways);
  return shortest && [...arrows, ...shortest];
}

/** Guards are not known here: of several ways that explain what happened, the shortest is the likeliest.
 * @param {readonly (readonly string[] | null)[]} ways @returns {readonly string[] | null} */
const shortestOf = (ways) => ways.reduce((best, way) => (way && (!best || way.length < best.length) ? way : best), null);

/** Where `id` leads without an event.
 * @param {ReadonlyMap<string, State>} states @param {string} id */
const byThemselves = (states, id) => targetsOf(states, id, '');

/** The state and those that it starts with, outermost first.
 * @param {ReadonlyMap<string, State>} states @param {string} id @returns {readonly string[]} */
function enteredWith(states, id) {
  const state = states.get(id);
  if (!state) return [id];
  if (state.type === 'parallel') return [id, ...state.states.flatMap((child) => enteredWith(states, child.id))];
  return state.initial && isWithin(state.initial, id) ? [id, ...enteredWith(states, state.initial)] : [id];
}
