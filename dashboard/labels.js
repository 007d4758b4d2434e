// Finds places for the labels of arrows where the layout left no room for them. Pure, so that it is tested without a browser.

/** @typedef {{ x: number, y: number }} Point */
/** @typedef {{ x: number, y: number, width: number, height: number }} Rect */
/** @typedef {{ place: Rect, cost: number }} Candidate */

/** Along a stretch of the arrow, and beside it. */
const ALONG = [0.5, 0.3, 0.7];
const BESIDE = [0, -1, 1, -1.7, 1.7];

/** The place on or beside the arrow that covers the least: boxes weigh most, then labels that have their place already.
 * @param {readonly Point[]} points @param {{ width: number, height: number }} size @param {readonly Rect[]} boxes @param {readonly Rect[]} labels
 * @returns {Rect | null} null for an arrow without points */
export function freePlace(points, size, boxes, labels) {
  /** @type {Candidate | null} */
  let best = null;
  for (const { place, cost } of candidates(points, size)) {
    const total = cost + 6 * covered(place, boxes) + 3 * covered(place, labels);
    if (!best || total < best.cost) best = { place, cost: total };
  }
  return best?.place ?? null;
}

/** @param {readonly Point[]} points @param {{ width: number, height: number }} size @returns {Candidate[]} */
function candidates(points, size) {
  const stretches = points.slice(1).map((to, index) => ({ from: points[index] ?? to, to }));
  return stretches.flatMap(({ from, to }) =>
    ALONG.flatMap((along) => BESIDE.map((beside) => candidate({ from, to, along, beside }, size))),
  );
}

/** @param {{ from: Point, to: Point, along: number, beside: number }} where @param {{ width: number, height: number }} size @returns {Candidate} */
function candidate({ from, to, along, beside }, { width, height }) {
  const isFlat = Math.abs(to.y - from.y) < Math.abs(to.x - from.x);
  const middleX = from.x + (to.x - from.x) * along + (isFlat ? 0 : (beside * width) / 2);
  const middleY = from.y + (to.y - from.y) * along + (isFlat ? (beside * height) / 2 : 0);
  const lacking = Math.max(0, (isFlat ? width : height) - Math.hypot(to.x - from.x, to.y - from.y));
  const cost = lacking * height + Math.abs(beside) * 40 + (along === 0.5 ? 0 : 10);
  return { place: { x: middleX - width / 2, y: middleY - height / 2, width, height }, cost };
}

/** How much of `place` the rectangles cover.
 * @param {Rect} place @param {readonly Rect[]} rects */
const covered = (place, rects) => rects.reduce((sum, rect) => sum + overlap(place, rect), 0);

/** @param {Rect} a @param {Rect} b */
function overlap(a, b) {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return width > 0 && height > 0 ? width * height : 0;
}
