// Draws a placed chart as SVG and marks in it what is live.

import { inFull } from './graph.js';
import { LABEL_HEIGHT, LINE_HEIGHT, NAME_HEIGHT } from './layout.js';

/** @typedef {import('./layout.js').Layout} Layout */
/** @typedef {import('./layout.js').PlacedBox} PlacedBox */
/** @typedef {import('./layout.js').PlacedEdge} PlacedEdge */
/** @typedef {import('./layout.js').Point} Point */

/** @param {string} name @param {Record<string, string | number>} [attributes] @param {readonly (Node | string)[]} [children] */
export function svg(name, attributes = {}, children = []) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** @param {Layout} layout */
export function draw(layout) {
  const picture = svg('svg', { role: 'img', 'aria-label': 'State chart', viewBox: `0 0 ${layout.width} ${layout.height}` });
  picture.append(
    svg('defs', {}, ['plain', 'error', 'last'].map(arrowHead)),
    ...layout.boxes.filter(({ box }) => box.children.length > 0).map(drawBox),
    ...layout.edges.map(drawEdge),
    ...layout.boxes.filter(({ box }) => box.children.length === 0).map(drawBox),
    ...layout.edges.flatMap(drawLabel),
  );
  return /** @type {SVGSVGElement} */ (picture);
}

/** Marks the live states in the colour of `tone`, and the arrows that the last transition took.
 * @param {SVGSVGElement} picture @param {{ live: ReadonlySet<string>, arrows: readonly string[], tone: string }} marks */
export function mark(picture, { live, arrows, tone }) {
  for (const element of picture.querySelectorAll('.state')) {
    const isLive = live.has(element.getAttribute('data-id') ?? '');
    element.classList.remove('ok', 'busy', 'wait', 'trouble', 'done');
    element.classList.toggle('live', isLive);
    if (isLive) element.classList.add(tone);
  }
  for (const element of picture.querySelectorAll('.edge')) {
    const isLast = arrows.includes(element.getAttribute('data-id') ?? '');
    element.classList.toggle('last', isLast);
    element.classList.toggle('next', live.has(element.getAttribute('data-source') ?? ''));
    const path = element.querySelector('path');
    path?.setAttribute('marker-end', `url(#arrow-${isLast ? 'last' : element.classList.contains('error') ? 'error' : 'plain'})`);
  }
}

/** @param {string} kind */
function arrowHead(kind) {
  const box = { id: `arrow-${kind}`, class: `arrow ${kind}`, viewBox: '0 0 8 8', refX: 7.2, refY: 4, markerUnits: 'userSpaceOnUse' };
  const size = kind === 'last' ? 12 : 9;
  return svg('marker', { ...box, markerWidth: size, markerHeight: size, orient: 'auto' }, [svg('path', { d: 'M0 0.6 L8 4 L0 7.4 z' })]);
}

/** @param {PlacedBox} placed */
function drawBox({ box, x, y, width, height }) {
  const isLeaf = box.children.length === 0;
  const kind = box.state === null ? 'any' : isLeaf ? `leaf ${box.state.type}` : `compound ${box.state.type}`;
  const group = svg('g', { class: `state ${kind}`, 'data-id': box.id }, [svg('rect', { x, y, width, height, rx: isLeaf ? 9 : 12 })]);
  const middle = x + width / 2;
  const placement = isLeaf ? { x: middle, 'text-anchor': 'middle' } : { x: x + 12 };
  group.append(svg('text', { ...placement, y: y + 20, class: 'name' }, [box.name]));
  for (const [index, line] of box.lines.entries()) {
    group.append(
      svg('text', { ...placement, y: y + NAME_HEIGHT + 12 + index * LINE_HEIGHT, class: line.job ? 'job' : 'line' }, [line.text]),
    );
  }
  if (box.isInitial) group.append(svg('path', { class: 'initial', d: `M${x - 6} ${y + 9} l11 6.5 l-11 6.5 z` }));
  const about = aboutBox(box);
  if (about) group.prepend(svg('title', {}, [about]));
  return group;
}

/** @param {import('./graph.js').Box} box */
function aboutBox({ state, isInitial }) {
  if (!state) return '';
  const entry = state.entry.length > 0 ? `on entry: ${state.entry.join(', ')}` : '';
  const exit = state.exit.length > 0 ? `on exit: ${state.exit.join(', ')}` : '';
  return [state.id + (isInitial ? ' (entered first)' : ''), state.description, entry, exit].filter(Boolean).join('\n');
}

/** @param {PlacedEdge} placed */
function drawEdge({ edge, points }) {
  return svg('g', { class: `edge ${edge.kind}`, 'data-id': edge.id, 'data-source': edge.source }, [
    aboutEdge(edge),
    svg('path', { d: rounded(points) }),
  ]);
}

/** @param {PlacedEdge} placed */
function drawLabel({ edge, label }) {
  if (!label) return [];
  const back = svg('rect', { class: 'back', x: label.x, y: label.y, width: label.width, height: label.height, rx: 4 });
  const lines = edge.lines.map((line, index) =>
    svg('text', { x: label.x + label.width / 2, y: label.y + 14 + index * LABEL_HEIGHT, 'text-anchor': 'middle' }, [line]),
  );
  return [
    svg('g', { class: `edge label ${edge.kind}`, 'data-id': edge.id, 'data-source': edge.source }, [aboutEdge(edge), back, ...lines]),
  ];
}

/** @param {import('./graph.js').Edge} edge */
const aboutEdge = ({ id, transitions }) => svg('title', {}, [[id, ...transitions.map(inFull)].join('\n')]);

const RADIUS = 7;

/** A line through the points with rounded corners.
 * @param {readonly Point[]} points */
export function rounded(points) {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M${first.x} ${first.y}`;
  for (const [index, point] of rest.entries()) {
    const after = rest[index + 1];
    const before = points[index] ?? first;
    if (!after) path += ` L${point.x} ${point.y}`;
    else path += ` L${towards(point, before)} Q${point.x} ${point.y} ${towards(point, after)}`;
  }
  return path;
}

/** @param {Point} from @param {Point} to */
function towards(from, to) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const part = Math.min(RADIUS, length / 2) / length;
  return `${from.x + (to.x - from.x) * part} ${from.y + (to.y - from.y) * part}`;
}
