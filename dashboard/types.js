// The data that the operator serves, as this page reads it. Only types: nothing of this exists when the page runs.

/** @typedef {null | boolean | number | string | readonly unknown[] | { readonly [key: string]: unknown }} Json */

/** @typedef {{ id: string, commandId: string, dueAt: number | null }} Waiting */

/** One actor as the table shows it.
 * @typedef {{
 *   actor: string, chart: string, name: string, pool: string, isRouted: boolean, state: string, node: string, ports: string, since: number | null,
 *   waiting: readonly Waiting[], reason: string, message: string, paused: boolean, attempts: number, version: number,
 * }} Row */

/** @typedef {{ leading: boolean, term: number, leader: string | null, now: number }} Head */

/** @typedef {{ at: number, event: string, from: Json, to: Json, note?: string }} JournalEntry */

/** @typedef {{
 *   kind: 'event' | 'always' | 'after' | 'done' | 'error', event: string, label: string, guard: string | null,
 *   actions: readonly string[], targets: readonly string[], reenter: boolean,
 * }} Transition */

/** @typedef {{
 *   id: string, key: string, type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history', description: string | null, initial: string | null,
 *   invoke: readonly { id: string, src: string }[], entry: readonly string[], exit: readonly string[],
 *   transitions: readonly Transition[], states: readonly State[],
 * }} State */

/** @typedef {{ name: string, root: State }} Definition */

export {};
