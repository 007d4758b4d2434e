// Shows any JSON as nested lists.

import { element } from './dom.js';
import { clock } from './text.js';

const TIME_KEY = /(At|Until)$/;

/** A value as nested lists; with the time of day beside what is a time by its name.
 * @param {unknown} value @param {string} [key] @returns {Node} */
export function tree(value, key = '') {
  if (Array.isArray(value)) {
    if (value.length === 0) return element('span', 'nothing', ['none']);
    return element(
      'ol',
      '',
      value.map((item) => element('li', '', [tree(item)])),
    );
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return element('span', 'nothing', ['none']);
    return element(
      'dl',
      '',
      entries.flatMap(([name, inner]) => branch(name, inner)),
    );
  }
  if (value === null || value === '') return element('span', 'nothing', [value === '' ? 'empty' : 'none']);
  const time = typeof value === 'number' && TIME_KEY.test(key) && value > 1e12 ? `  (${clock(value)})` : '';
  return element('span', 'mono', [String(value) + time]);
}

/** @param {string} name @param {unknown} inner */
function branch(name, inner) {
  const isNested = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0;
  const nested = tree(inner, name);
  return isNested ? [element('dt', '', [name]), element('dd', '', []), nested] : [element('dt', '', [name]), element('dd', '', [nested])];
}
