// The data that the operator serves, as this page reads it. Only types: nothing of this exists when the page runs.

/** @typedef {null | boolean | number | string | readonly unknown[] | { readonly [key: string]: unknown }} Json */

/** @typedef {{ id: string, commandId: string, dueAt: number | null }} Waiting */

/** One actor as the table shows it.
 * @typedef {{
 *   actor: string, chart: string, name: string, pool: string, isRouted: boolean, state: string, node: string, ports: string, since: number | null,
 *   waiting: readonly Waiting[], reason: string, message: string, paused: boolean, attempts: number, version: number,
 * }} Row */

/** Who decides; `reach` is the command that opens the leader's page.
 * @typedef {{ leading: boolean, term: number, leader: string | null, reach: string | null, observes?: true }} Leadership */

/** What would become of something.
 * @typedef {{ what: string, subject: string, from: string | null, to: string | null }} Difference */

/** @typedef {Leadership & { now: number }} Head */

/** An address that an account holds.
 * @typedef {{
 *   address: string, family: string, region: string, machine: string | null, node: string | null,
 *   standing: 'orphan' | 'unmanaged' | 'elsewhere' | 'claimed', owner: string | null, madeFor: string | null, madeAt: string | null, costPerMonth: number | null,
 * }} Holding */

/** @typedef {{
 *   account: string, provider: string, readAt: string | null, problem: string | null, note: string | null, currency: string | null,
 *   totals: { addresses: number, orphans: number, costPerMonth: number | null } | null, addresses: readonly Holding[],
 * }} Account */

/** State values before and after an event.
 * @typedef {{ event: string, from: unknown, to: unknown }} Move */

/** @typedef {Move & { at: number, note?: string }} JournalEntry */

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
