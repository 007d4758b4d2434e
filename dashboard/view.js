// Lets a picture be moved by dragging and magnified by the wheel or the buttons.

/** @typedef {{ x: number, y: number, width: number, height: number }} Frame */

/** @param {HTMLElement} host @param {SVGSVGElement} picture @param {{ width: number, height: number }} size @param {() => void} toggleLabels */
export function movable(host, picture, size, toggleLabels) {
  const home = homeOf(size, picture);
  let frame = home;
  /** @param {Frame} next */
  const show = (next) => {
    frame = next;
    picture.setAttribute('viewBox', `${next.x} ${next.y} ${next.width} ${next.height}`);
  };
  /** How much of the chart one pixel of the screen shows, at the least. */
  const scale = () => Math.max(frame.width / picture.clientWidth, frame.height / picture.clientHeight) || 1;

  /** @param {number} factor @param {number} atX @param {number} atY */
  const zoom = (factor, atX, atY) => {
    const width = Math.min(Math.max(frame.width * factor, size.width / 12), size.width * 2);
    const real = width / frame.width;
    show({ x: atX - (atX - frame.x) * real, y: atY - (atY - frame.y) * real, width, height: frame.height * real });
  };
  const zoomMiddle = (/** @type {number} */ factor) => zoom(factor, frame.x + frame.width / 2, frame.y + frame.height / 2);

  picture.addEventListener('wheel', (event) => {
    event.preventDefault();
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM()?.inverse());
    zoom(1.0015 ** event.deltaY, point.x, point.y);
  });
  picture.addEventListener('pointerdown', (event) => picture.setPointerCapture(event.pointerId));
  picture.addEventListener('pointermove', (event) => {
    if (!picture.hasPointerCapture(event.pointerId)) return;
    show({ ...frame, x: frame.x - event.movementX * scale(), y: frame.y - event.movementY * scale() });
  });

  show(home);
  const buttons = document.createElement('div');
  buttons.className = 'zoom';
  buttons.append(
    button('Labels', 'What every arrow stands for, or only those that matter now', toggleLabels),
    button('⤢', 'The chart alone, or with the rest of the page', () => document.body.classList.toggle('chart-only')),
    button('+', 'Closer', () => zoomMiddle(0.75)),
    button('−', 'Further', () => zoomMiddle(1.33)),
    button('Fit', 'The whole chart', () => show(home)),
  );
  host.append(buttons);
}

/** A small chart is not blown up: larger than this it only looks coarse. */
const LARGEST = 1.2;

/** The whole chart, in the middle.
 * @param {{ width: number, height: number }} size @param {SVGSVGElement} picture @returns {Frame} */
function homeOf(size, picture) {
  const width = Math.max(size.width, picture.clientWidth / LARGEST);
  const height = Math.max(size.height, picture.clientHeight / LARGEST);
  return { x: (size.width - width) / 2, y: (size.height - height) / 2, width, height };
}

/** @param {string} text @param {string} title @param {() => void} press */
function button(text, title, press) {
  const element = document.createElement('button');
  element.type = 'button';
  element.className = 'quiet';
  element.textContent = text;
  element.title = title;
  element.addEventListener('click', press);
  return element;
}
