/** The element of the page with that id. @throws Error when the page lacks it
 * @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/** @param {string} name @param {string} [className] @param {readonly (Node | string)[]} [children] */
export function element(name, className = '', children = []) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}
