// Which rows are listed, and in which order. Pure, so that it is tested without a browser.

import { toneOf } from './text.js';

/** @typedef {import('./types.js').Row} Row */
/** @typedef {'addresses' | 'pools' | 'routed' | 'services' | 'others'} Kind */
/** @typedef {'state' | 'name' | 'node' | 'since'} SortKey */
/** @typedef {{ kind: Kind, text: string, pool: string, state: string, sort: SortKey, descending: boolean }} View */

const TONES = ['trouble', 'busy', 'wait', 'ok', 'done'];

/** @param {Row} row @returns {Kind} */
export function kindOf({ chart, isRouted }) {
  if (chart === 'ip') return 'addresses';
  if (chart === 'vip-service' || chart === 'virtual-ip') return 'services';
  if (chart !== 'pool') return 'others';
  return isRouted ? 'routed' : 'pools';
}

/** To what a row belongs, as it is chosen by: a pool and a RoutedIP may have one name. Empty for nothing.
 * @param {Row} row */
export const ownerOf = ({ pool, isRouted }) => (isRouted ? `RoutedIP ${pool}` : pool);

/** The pools and RoutedIPs for which somebody has the operator decide nothing, as `ownerOf` names them.
 * @param {Iterable<Row>} rows @returns {ReadonlySet<string>} */
export const pausedOwners = (rows) => new Set([...rows].filter(({ paused }) => paused).map(ownerOf));

/** The outermost state, by which rows are counted.
 * @param {Row} row */
export const outerState = ({ state }) => state.split(/[.|]/)[0] ?? '';

/** @param {Iterable<Row>} rows @param {View} view @returns {Row[]} */
export function listed(rows, view) {
  return counted(rows, view)
    .filter((row) => view.state === '' || outerState(row) === view.state)
    .sort((a, b) => (view.descending ? compare(b, a, view.sort) : compare(a, b, view.sort)) || byName(a, b));
}

/** What every filter but that of the state lets through: the chips count these.
 * @param {Iterable<Row>} rows @param {View} view @returns {Row[]} */
export function counted(rows, view) {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...rows];
  const paused = pausedOwners(all);
  /** @param {Row} row */
  const says = (row) => `${textOf(row)} ${paused.has(ownerOf(row)) ? 'paused' : ''}`;
  return all.filter(
    (row) =>
      kindOf(row) === view.kind && (view.pool === '' || ownerOf(row) === view.pool) && words.every((word) => says(row).includes(word)),
  );
}

/** @param {Row} row */
const textOf = (row) => [row.name, ownerOf(row), row.state, row.node, row.ports, row.reason, row.message].join(' ').toLowerCase();

/** @param {Row} a @param {Row} b @param {SortKey} key */
function compare(a, b, key) {
  if (key === 'state')
    return TONES.indexOf(toneOf(a.state, a.reason)) - TONES.indexOf(toneOf(b.state, b.reason)) || a.state.localeCompare(b.state);
  if (key === 'node') return a.node.localeCompare(b.node, undefined, { numeric: true });
  if (key === 'since') return (b.since ?? 0) - (a.since ?? 0);
  return byName(a, b);
}

/** @param {Row} a @param {Row} b */
const byName = (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }) || a.actor.localeCompare(b.actor);
