// Places the boxes and arrows of a chart with the ELK layout engine, in a worker, so that the page stays responsive.

import { backwards, graphOf } from './graph.js';
import { freePlace } from './labels.js';

/** @typedef {import('./graph.js').Box} Box */
/** @typedef {import('./graph.js').Edge} Edge */
/** @typedef {{ x: number, y: number }} Point */
/** @typedef {{ box: Box, x: number, y: number, width: number, height: number }} PlacedBox */
/** @typedef {{ edge: Edge, points: readonly Point[], label: { x: number, y: number, width: number, height: number } | null }} PlacedEdge */
/** @typedef {{ isLabelled: boolean, width: number, height: number, boxes: readonly PlacedBox[], edges: readonly PlacedEdge[] }} Layout */
/** @typedef {{ id: string, x?: number, y?: number, width?: number, height?: number, children?: ElkNode[], edges?: ElkEdge[], layoutOptions?: Record<string, string> }} ElkNode */
/** @typedef {{ id: string, sources: string[], targets: string[], labels?: ElkLabel[], sections?: { startPoint: Point, endPoint: Point, bendPoints?: Point[] }[] }} ElkEdge */
/** @typedef {{ text: string, width: number, height: number, x?: number, y?: number, layoutOptions?: Record<string, string> }} ElkLabel */
/** @typedef {{ layout(graph: ElkNode): Promise<ElkNode> }} Elk */

export const LINE_HEIGHT = 18;
export const NAME_HEIGHT = 28;
export const LABEL_HEIGHT = 16;
const SIDE = 11;

const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.padding': '[top=14,left=14,bottom=14,right=14]',
  'elk.spacing.nodeNode': '18',
  'elk.spacing.edgeNode': '12',
  'elk.spacing.edgeEdge': '10',
  'elk.spacing.edgeLabel': '4',
  'elk.layered.spacing.nodeNodeBetweenLayers': '20',
  'elk.layered.spacing.edgeNodeBetweenLayers': '11',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '7',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
};

/** @type {Elk | null} */
let engine = null;
/** @type {Map<string, Promise<Layout>>} */
const known = new Map();

/** From this scale on texts are readable. */
const READABLE = 0.58;

/** The layout of a chart, across or down, whichever shows it larger in `frame`. With labels there is room for what every arrow stands for; without,
 *  arrows are closer and everything is larger: chosen where labels would be too small to read, unless the person chose.
 * @param {import('./types.js').Definition} definition @param {{ width: number, height: number }} frame @param {boolean | null} isLabelled null for what suits
 * @returns {Promise<Layout>} */
export async function layoutOf(definition, frame, isLabelled) {
  /** @param {Layout} layout */
  const scale = ({ width, height }) => Math.min(frame.width / width, frame.height / height);
  /** @param {boolean} labelled */
  const larger = async (labelled) => {
    const [across, down] = await Promise.all([remembered(definition, 'RIGHT', labelled), remembered(definition, 'DOWN', labelled)]);
    return scale(down) > scale(across) ? down : across;
  };
  if (isLabelled !== null) return larger(isLabelled);
  const labelled = await larger(true);
  return scale(labelled) >= READABLE ? labelled : larger(false);
}

/** @param {import('./types.js').Definition} definition @param {string} direction @param {boolean} isLabelled */
function remembered(definition, direction, isLabelled) {
  const key = `${definition.name} ${direction} ${isLabelled}`;
  const layout = known.get(key) ?? compute(definition, direction, isLabelled);
  known.set(key, layout);
  layout.catch(() => known.delete(key));
  return layout;
}

/** @param {import('./types.js').Definition} definition @param {string} direction @param {boolean} isLabelled @returns {Promise<Layout>} */
async function compute(definition, direction, isLabelled) {
  const ELK = /** @type {{ ELK: new (options: object) => Elk }} */ (/** @type {unknown} */ (globalThis)).ELK;
  engine ??= new ELK({ workerUrl: '/vendor/elk-worker.js' });
  const graph = graphOf(definition, isLabelled);
  const isBack = backwards(definition.root);
  const placed = await engine.layout({
    id: 'canvas',
    layoutOptions: { ...OPTIONS, 'elk.direction': direction },
    children: graph.boxes.map(elkNode),
    edges: graph.edges.map((edge) => elkEdge(edge, isBack(edge), isLabelled)),
  });
  const boxes = new Map(graph.boxes.flatMap(everyBox).map((box) => [box.id, box]));
  const edges = new Map(graph.edges.map((edge) => [edge.id, edge]));
  const drawn = placedBoxes(placed.children ?? [], boxes);
  return {
    isLabelled,
    width: placed.width ?? 0,
    height: placed.height ?? 0,
    boxes: drawn,
    edges: placedEdges(
      placed.edges ?? [],
      edges,
      isBack,
      drawn.filter(({ box }) => box.children.length === 0),
    ),
  };
}

/** @param {Box} box @returns {Box[]} */
const everyBox = (box) => [box, ...box.children.flatMap(everyBox)];

/** @param {Box} box @returns {ElkNode} */
function elkNode(box) {
  const width = Math.max(
    80,
    textWidth(box.name, 'bold 16px') + 2 * SIDE,
    ...box.lines.map(({ text }) => textWidth(text, '13px') + 2 * SIDE),
  );
  const height = NAME_HEIGHT + box.lines.length * LINE_HEIGHT + (box.lines.length > 0 ? 7 : 5);
  if (box.children.length === 0) return { id: box.id, width, height };
  return {
    id: box.id,
    children: box.children.map(elkNode),
    layoutOptions: {
      'elk.padding': `[top=${height + 6},left=13,bottom=13,right=13]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width},${height})`,
    },
  };
}

/** An arrow that leads back is given to the engine the other way round: then its layers follow the order in which the chart is written.
 * @param {Edge} edge @param {boolean} isBack @param {boolean} isLabelled @returns {ElkEdge} */
function elkEdge(edge, isBack, isLabelled) {
  const [first, second] = isBack ? [edge.target, edge.source] : [edge.source, edge.target];
  const ends = { id: edge.id, sources: [first], targets: [second] };
  if (!isLabelled || edge.lines.length === 0) return ends;
  return { ...ends, labels: [{ text: edge.id, ...labelSize(edge), layoutOptions: { 'elk.edgeLabels.inline': 'true' } }] };
}

/** @param {Edge} edge */
const labelSize = ({ lines }) => ({
  width: Math.max(...lines.map((line) => textWidth(line, '13px'))) + 10,
  height: lines.length * LABEL_HEIGHT + 4,
});

/** @type {CanvasRenderingContext2D | null} */
let ruler = null;

/** @param {string} text @param {string} font */
function textWidth(text, font) {
  ruler ??= document.createElement('canvas').getContext('2d');
  if (!ruler) return text.length * 7;
  ruler.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(ruler.measureText(text).width);
}

/** @param {readonly ElkNode[]} nodes @param {ReadonlyMap<string, Box>} boxes @returns {PlacedBox[]} */
function placedBoxes(nodes, boxes) {
  return nodes.flatMap(({ id, x = 0, y = 0, width = 0, height = 0, children = [] }) => {
    const box = boxes.get(id);
    return box ? [{ box, x, y, width, height }, ...placedBoxes(children, boxes)] : [];
  });
}

/** @param {readonly ElkEdge[]} placed @param {ReadonlyMap<string, Edge>} edges @param {(edge: Edge) => boolean} isBack @param {readonly PlacedBox[]} boxes */
function placedEdges(placed, edges, isBack, boxes) {
  /** @type {PlacedEdge[]} */
  const done = [];
  for (const { id, sections = [], labels = [] } of placed) {
    const edge = edges.get(id);
    if (!edge) continue;
    const drawn = sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint]);
    const points = isBack(edge) ? drawn.toReversed() : drawn;
    done.push({ edge, points, label: edge.lines.length === 0 ? null : labelPlace(edge, points, labels[0], boxes, done) });
  }
  return done;
}

/** Where the engine made room for the label, else where it covers the least.
 * @param {Edge} edge @param {readonly Point[]} points @param {ElkLabel | undefined} placed @param {readonly PlacedBox[]} boxes @param {readonly PlacedEdge[]} done */
function labelPlace(edge, points, placed, boxes, done) {
  if (placed) return { x: placed.x ?? 0, y: placed.y ?? 0, width: placed.width, height: placed.height };
  const others = done.flatMap(({ label }) => (label ? [label] : []));
  return freePlace(points, labelSize(edge), boxes, others);
}
