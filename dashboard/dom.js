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

/** Links to these places by their texts.
 * @param {Readonly<Record<string, string>>} places */
export const linksTo = (places) =>
  Object.entries(places).map(([text, href]) => {
    const link = element('a', '', [text]);
    link.setAttribute('href', href);
    return link;
  });

/** Brings a list up to date and leaves what looks as before where it is: neither a press nor the focus is lost to what arrives meanwhile.
 * @param {HTMLElement} list @param {readonly { key: string, looks: string, make: () => HTMLElement }[]} items `looks` differs when what is made would differ */
export function update(list, items) {
  const former = new Map([...list.children].map((child) => [child.getAttribute('data-key') ?? '', /** @type {HTMLElement} */ (child)]));
  /** @type {Element | null} */
  let at = list.firstElementChild;
  for (const { key, looks, make } of items) {
    const before = former.get(key);
    former.delete(key);
    const shown = before?.dataset.looks === looks ? before : make();
    const hadFocus = before !== shown && before?.contains(document.activeElement);
    Object.assign(shown.dataset, { key, looks });
    if (shown === at) at = at.nextElementSibling;
    else list.insertBefore(shown, at);
    if (before !== shown) {
      if (before === at) at = at?.nextElementSibling ?? null;
      before?.remove();
    }
    if (hadFocus) shown.querySelector('button')?.focus();
  }
  for (const gone of former.values()) gone.remove();
}
