// What the messages of the inspector say of actors and events. Pure, so that it is tested without a browser.

/** @typedef {{ type: string, readonly [field: string]: unknown }} Event */
/** @typedef {{ status?: string, value?: unknown, context?: unknown }} Snapshot */
/** @typedef {{ type: string, sessionId: string, parentId?: string, sourceId?: string, definition?: string, snapshot?: Snapshot, event?: Event, createdAt?: string }} Message */
/** An actor; `machine` is the id of its machine, empty for one without a chart: a job, or the operator itself.
 * @typedef {{ id: string, parent: string | null, machine: string, value: unknown, context: unknown, last: Move | null, message: Message }} Actor */
/** @typedef {import('./types.js').Move} Move */
/** One event on its way; `move` is what it led to, with the other events of its turn; null until that is known.
 * @typedef {{ number: number, at: number, from: string, to: string, event: Event, move: Move | null }} Sent */

/** So many events are kept. */
const MOST_EVENTS = 500;

export class Model {
  /** @type {Map<string, Actor>} */
  actors = new Map();
  /** Oldest first.
   * @type {Sent[]} */
  events = [];
  #count = 0;

  /** Forgets the actors, not what happened: all of them are said again. */
  restart() {
    this.actors = new Map();
  }

  /** @param {Message} message */
  hear(message) {
    if (message.type === '@xstate.actor') this.#introduce(message);
    if (message.type === '@xstate.event') this.#sent(message);
    if (message.type === '@xstate.snapshot') this.#changed(message);
  }

  /** What introduces all actors as they are now to somebody who knows nothing: owners first, as they were heard of.
   * @returns {Message[]} */
  introductions() {
    return [...this.actors.values()].map(({ message, value, context }) => ({
      ...message,
      snapshot: { ...message.snapshot, value, context },
    }));
  }

  /** @param {Message} message */
  #introduce(message) {
    const { sessionId: id, parentId = null, definition, snapshot = {} } = message;
    const machine = definition ? /** @type {{ id: string }} */ (JSON.parse(definition)).id : '';
    const last = this.actors.get(id)?.last ?? null;
    this.actors.set(id, { id, parent: parentId, machine, value: snapshot.value, context: snapshot.context, last, message });
  }

  /** @param {Message} message */
  #sent({ sessionId: to, sourceId: from = '', event = { type: '' }, createdAt = '' }) {
    this.#count += 1;
    this.events.push({ number: this.#count, at: Number(createdAt), from, to, event, move: null });
    if (this.events.length > MOST_EVENTS) this.events.shift();
  }

  /** @param {Message} message */
  #changed({ sessionId: id, snapshot = {}, event }) {
    const actor = this.actors.get(id);
    if (!actor) return;
    const isGone = snapshot.status === 'done';
    const move = { event: event?.type ?? '', from: actor.value, to: isGone ? null : snapshot.value };
    const isMoved = JSON.stringify(move.from) !== JSON.stringify(move.to);
    if (isGone) this.#forget(id);
    else this.actors.set(id, { ...actor, value: snapshot.value, context: snapshot.context, last: isMoved ? move : actor.last });
    const latest = this.events.findLast(({ to }) => to === id);
    if (latest && isMoved) latest.move = move;
  }

  /** With its jobs.
   * @param {string} id */
  #forget(id) {
    for (const each of this.actors.keys()) if (each === id || each.startsWith(`${id}/job/`)) this.actors.delete(each);
  }
}

/** Actors with a chart, each below the one that it is a part of, with how deep it stands.
 * @param {Iterable<Actor>} actors @returns {{ actor: Actor, depth: number }[]} */
export function treeOf(actors) {
  const shown = [...actors].filter(({ machine }) => machine !== '');
  const ids = new Set(shown.map(({ id }) => id));
  /** @param {string | null} parent @param {number} depth @returns {{ actor: Actor, depth: number }[]} */
  const below = (parent, depth) =>
    shown
      .filter((actor) => (actor.parent !== null && ids.has(actor.parent) ? actor.parent : null) === parent)
      .sort((a, b) => rankOf(a) - rankOf(b) || a.id.localeCompare(b.id, undefined, { numeric: true }))
      .flatMap((actor) => [{ actor, depth }, ...below(actor.id, depth + 1)]);
  return below(null, 0);
}

/** Pools first, then what else people own, then what the operator has for itself.
 * @param {Actor} actor */
const rankOf = ({ id }) => Object.keys(KINDS).indexOf(id.split('/')[0] ?? '');

/** Events that an actor, or what is a part of it, sent or heard.
 * @param {readonly Sent[]} events @param {string} actor @returns {Sent[]} */
export function eventsOf(events, actor) {
  /** @param {string} id */
  const isPart = (id) => id === actor || id.startsWith(`${actor}/`);
  return events.filter(({ from, to }) => isPart(from) || isPart(to));
}

/** @type {Readonly<Record<string, string>>} */
const KINDS = {
  pool: 'pool',
  rip: 'RoutedIP',
  dns: 'DNS records',
  vip: 'Service',
  vvip: 'VirtualIP',
  zone: 'zone',
  firewall: 'firewall',
  verify: 'verify',
};

/** What an actor is called among others: `203.0.113.7`, `RoutedIP default/shop`, `job assign`.
 * @param {string} id */
export function nameOf(id) {
  const job = /\/job\/([^/]+)$/.exec(id)?.[1];
  if (job) return `job ${job}`;
  const address = /^(?:pool|rip)\/[^/]+\/[^/]+\/ip\/(.+)$/.exec(id)?.[1];
  if (address) return address;
  const [kind = '', ...rest] = id.split('/');
  if (rest.length === 3 && rest[2] === 'dns') return `DNS records of ${rest[0]}/${rest[1]}`;
  return KINDS[kind] ? `${KINDS[kind]} ${rest.join('/')}` : id;
}

/** Why the last thing that an actor tried went wrong; empty when all is well.
 * @param {unknown} context */
export function reasonIn(context) {
  const { failure } = /** @type {{ failure?: { kind?: unknown } | null }} */ (context ?? {});
  return typeof failure?.kind === 'string' ? failure.kind : '';
}

/** What is said of the connection and of the viewer. `viewer`: `off` by choice, `waiting` for its first word, `silent` for too long, `there`.
 * @param {{ isConnected: boolean, isLeading: boolean, viewer: 'off' | 'waiting' | 'silent' | 'there', isShown: boolean, host: string }} facts
 * @returns {{ text: string, tone: 'ok' | 'wait' | 'trouble' }} */
export function statusOf({ isConnected, isLeading, viewer, isShown, host }) {
  if (!isConnected) return { text: 'No connection to the operator. Trying again…', tone: 'trouble' };
  if (!isLeading) return { text: 'Connected to a replica that does not lead.', tone: 'trouble' };
  if (viewer === 'waiting') return { text: `Connected to the operator. Waiting for the viewer at ${host}…`, tone: 'wait' };
  if (viewer === 'silent')
    return {
      text: `Connected to the operator. The viewer at ${host} does not answer: this page draws the charts itself.`,
      tone: 'trouble',
    };
  if (isShown) return { text: `Connected to the operator. Drawn by ${host}, which gets the state of the actors.`, tone: 'ok' };
  if (viewer === 'there') return { text: `Connected to the operator. The viewer at ${host} answers now.`, tone: 'ok' };
  return { text: 'Connected to the operator. Drawn by this page: nothing is sent elsewhere.', tone: 'ok' };
}
