// From a chart's definition to what the layout engine takes. Pure, so that it is tested without a browser.

/** @typedef {import('./types.js').State} State */
/** @typedef {import('./types.js').Transition} Transition */

/** One arrow: all transitions from one state to another.
 * @typedef {{ id: string, source: string, target: string, kind: string, transitions: readonly Transition[], lines: readonly string[] }} Edge */
/** A box. `lines` stand below its name: jobs first, then what it answers without leaving.
 * @typedef {{ id: string, state: State | null, name: string, isInitial: boolean, lines: readonly { text: string, job: boolean }[], children: readonly Box[] }} Box */
/** @typedef {{ boxes: readonly Box[], edges: readonly Edge[] }} Graph */

/** The id of the box that stands for every state within `id`. */
const ANY = ':any';

/** @param {{ root: State }} definition @param {boolean} isLabelled with what a state answers without being left @returns {Graph} */
export function graphOf({ root }, isLabelled) {
  /** @type {Map<string, { source: string, target: string, transitions: Transition[] }>} */
  const grouped = new Map();
  for (const state of everyState(root)) {
    for (const transition of state.transitions) {
      for (const target of transition.targets.filter((id) => id !== state.id)) {
        const source = isWithin(target, state.id) ? state.id + ANY : state.id;
        const id = edgeId(source, target);
        const group = grouped.get(id) ?? { source, target, transitions: [] };
        group.transitions.push(transition);
        grouped.set(id, group);
      }
    }
  }
  const arrows = [...grouped].map(([id, group]) => ({
    id,
    ...group,
    kind: kindOf(group.transitions),
    lines: linesOf(group.transitions),
  }));
  return {
    boxes: chartBoxes(root, new Set(arrows.map(({ source }) => source))).map((box) => (isLabelled ? box : withJobsOnly(box))),
    edges: arrows,
  };
}

/** @param {string} source @param {string} target */
export const edgeId = (source, target) => `${source} → ${target}`;

/** Where an arrow of `source` to `target` begins: a state that is left for one of its own stands as `any`.
 * @param {string} source @param {string} target */
export const edgeSource = (source, target) => (isWithin(target, source) ? source + ANY : source);

/** True for an arrow against the order in which the chart is written: an address lives its states in that order, so these lead back.
 * @param {State} root @returns {(edge: { source: string, target: string }) => boolean} */
export function backwards(root) {
  const order = new Map([...everyState(root)].map(({ id }, index) => [id, index]));
  return ({ source, target }) => (order.get(target) ?? -1) < (order.get(source) ?? -1);
}

/** @param {string} id @param {string} ancestor */
export const isWithin = (id, ancestor) => id.startsWith(`${ancestor}.`);

/** @param {State} state @returns {Generator<State>} */
export function* everyState(state) {
  yield state;
  for (const child of state.states) yield* everyState(child);
}

/** The whole chart. Its outermost state is not drawn: what holds in it stands in the box for any state.
 * @param {State} root @param {ReadonlySet<string>} sources @returns {readonly Box[]} */
function chartBoxes(root, sources) {
  const { lines, children } = boxOf(root, sources);
  const inside = children.filter(({ id }) => id !== root.id + ANY);
  const hasAny = lines.length > 0 || inside.length < children.length;
  return hasAny ? [...inside, anyBox(root, lines)] : inside;
}

/** @param {State} state @param {ReadonlySet<string>} sources @returns {Box} */
function boxOf(state, sources) {
  const children = state.states.map((child) => ({ ...boxOf(child, sources), isInitial: child.id === state.initial }));
  if (sources.has(state.id + ANY)) children.push(anyBox(state, []));
  return { id: state.id, state, name: state.key, isInitial: false, lines: [...state.invoke.map(jobLine), ...ownLines(state)], children };
}

/** @param {Box} box @returns {Box} */
const withJobsOnly = (box) => ({ ...box, lines: box.lines.filter(({ job }) => job), children: box.children.map(withJobsOnly) });

/** @param {State} state @param {Box['lines']} lines @returns {Box} */
const anyBox = (state, lines) => ({ id: state.id + ANY, state: null, name: 'any state', isInitial: false, lines, children: [] });

/** @param {{ src: string }} invoke */
const jobLine = ({ src }) => ({ text: `⚙ ${src}`, job: true });

/** What the state answers without being left for another: once a line, with `↻` where it is entered again.
 * @param {State} state */
function ownLines(state) {
  const texts = state.transitions
    .filter(({ targets }) => targets.every((target) => target === state.id))
    .map(({ label, guard, targets }) => `${label}${guard ? ` [${guard}]` : ''}${targets.length > 0 ? ' ↻' : ''}`);
  return [...new Set(texts)].map((text) => ({ text, job: false }));
}

/** An arrow is drawn as the worst of what it carries only when it carries nothing else.
 * @param {readonly Transition[]} transitions */
function kindOf(transitions) {
  const kinds = new Set(transitions.map(({ kind }) => kind));
  return kinds.size === 1 ? (transitions[0]?.kind ?? 'event') : 'event';
}

/** What stands at an arrow: each event once, and the guards of what is done without one. The rest is told when one points at it.
 * @param {readonly Transition[]} transitions @returns {readonly string[]} */
const linesOf = (transitions) => [
  ...new Set(transitions.map(({ label, kind, guard }) => (kind === 'always' && guard ? `[${guard}]` : label))),
];

/** A transition whole, as one points at its arrow.
 * @param {Transition} transition */
export function inFull({ label, guard, actions }) {
  return `${label}${guard ? ` [${guard}]` : ''}${actions.length > 0 ? ` / ${actions.join(', ')}` : ''}`;
}
