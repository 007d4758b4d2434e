// What the accounts hold and whose it is. Asked for every few seconds: the operator does not look more often.

import { byId, element, linksTo } from './dom.js';
import { get } from './live.js';
import { OBSERVES } from './plan.js';
import { followerText, money, span } from './text.js';

/** @typedef {import('./types.js').Head & { inventory: { at: string, accounts: readonly Account[] } | null }} Answer */
/** @typedef {import('./types.js').Account} Account */
/** @typedef {import('./types.js').Holding} Holding */

const ASK_EVERY_MS = 5_000;

/** How each standing looks, whose such an address is, and what several are called; in the order of the list. */
const STANDINGS = /** @type {const} */ ({
  orphan: ['trouble', 'nobody', 'orphans'],
  unmanaged: ['wait', 'nobody, and yet on a node', 'unclaimed on a node'],
  elsewhere: ['done', 'outside this cluster', 'outside this cluster'],
  claimed: ['ok', '', 'claimed'],
});
const HEADS = ['Address', 'Whose', 'Where', 'Region', 'Made', 'A month'];
const view = { text: '', standing: '' };

/** @type {Answer | null} */
let answer = null;
/** How much the operator's clock is ahead of this machine's, ms. */
let ahead = 0;
let isLost = false;
/** What is painted in the table. */
let painted = '';

const accounts = () => answer?.inventory?.accounts ?? [];
/** @param {string | null} at */
const since = (at) => (at === null ? '—' : span(Date.now() + ahead - Date.parse(at)));

function paint() {
  const notice = noticeText();
  byId('notice').hidden = notice === '';
  byId('notice').textContent = notice;
  byId('observes').hidden = !answer?.observes;
  byId('connection').textContent = isLost ? 'reconnecting' : answer ? 'live' : 'connecting';
  byId('connection').className = `pill ${answer && !isLost ? 'ok' : 'trouble'}`;
  document.body.classList.toggle('stale', isLost);
  byId('accounts').replaceChildren(...accounts().map(card));
  paintRows();
}

function noticeText() {
  if (isLost) return 'No connection to the operator. Trying again…';
  if (!answer || answer.inventory) return '';
  return answer.leading ? 'The operator has not looked yet: it does so within a minute.' : followerText(answer);
}

/** @param {Account} account */
function card(account) {
  const { totals, readAt, problem, note } = account;
  return element('article', 'account', [
    element('h2', '', [account.account]),
    ...(totals ? [figures(totals, account.currency)] : []),
    element('p', 'dim', [readAt === null ? (note ?? 'not read') : `read ${since(readAt)} ago`]),
    ...(problem === null ? [] : [element('p', 'problem', [problem])]),
  ]);
}

/** @param {NonNullable<Account['totals']>} totals @param {string | null} currency */
function figures({ addresses, orphans, costPerMonth }, currency) {
  return element('div', 'figures', [
    figure(String(addresses), addresses === 1 ? 'address' : 'addresses'),
    figure(String(orphans), orphans === 1 ? 'orphan' : 'orphans', orphans > 0 ? 'trouble' : ''),
    figure(costPerMonth === null ? 'unknown' : money(costPerMonth, currency), 'a month'),
  ]);
}

/** @param {string} value @param {string} name @param {string} [tone] */
const figure = (value, name, tone = '') => element('div', tone, [element('b', '', [value]), name]);

function paintRows() {
  const looks = JSON.stringify([view, answer?.inventory?.at]);
  // Rows that are the same are left where they are: there may be thousands, and somebody may be copying from them.
  if (looks === painted) return;
  painted = looks;
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = accounts().flatMap((account) => account.addresses.map((holding) => ({ account, holding })));
  const found = all.filter(({ account, holding }) => words.every((word) => textOf(account, holding).includes(word)));
  const listed = found.filter(({ holding }) => view.standing === '' || holding.standing === view.standing);
  const counts = Map.groupBy(found, ({ holding }) => holding.standing);
  const chips = Object.entries(STANDINGS).map(([standing, [tone, , text]]) =>
    chip(standing, text, counts.get(/** @type {Holding['standing']} */ (standing))?.length ?? 0, tone),
  );
  byId('chips').replaceChildren(chip('', 'All', found.length, ''), ...chips);
  byId('rows').replaceChildren(...listed.map(row));
  byId('empty').hidden = listed.length > 0 || !answer?.inventory;
  byId('empty').textContent = all.length > 0 ? 'Nothing matches the filter.' : 'No addresses are known of.';
}

/** @param {Account} account @param {Holding} holding */
const textOf = ({ account }, { address, region, machine, node, owner, madeFor, standing }) =>
  [account, address, region, machine, node, owner, madeFor, ...STANDINGS[standing]].join(' ').toLowerCase();

/** @param {string} standing @param {string} text @param {number} count @param {string} tone */
function chip(standing, text, count, tone) {
  const button = element('button', tone, [`${text} `, element('b', '', [String(count)])]);
  button.setAttribute('type', 'button');
  button.setAttribute('aria-pressed', String(view.standing === standing));
  button.addEventListener('click', () => {
    view.standing = standing;
    paintRows();
  });
  return button;
}

/** @param {{ account: Account, holding: Holding }} listed */
function row({ account, holding }) {
  const { address, standing, owner, madeFor, madeAt, node, machine, region, costPerMonth } = holding;
  const [tone, text] = STANDINGS[standing];
  const made = madeFor === null || madeFor === owner ? '' : `made for ${madeFor}`;
  const cells = [
    cell(element('span', 'mono', [address]), account.account),
    cell(element('span', `badge ${tone}`, [owner ?? text]), made),
    cell(node ?? machine ?? '—', node && machine ? machine : ''),
    cell(region || '—'),
    cell(since(madeAt)),
    cell(costPerMonth === null ? 'unknown' : money(costPerMonth, account.currency), '', 'cost'),
  ];
  const listed = element('tr', '', cells);
  listed.dataset.address = address;
  return listed;
}

/** @param {Node | string} first @param {string} [second] @param {string} [className] */
const cell = (first, second = '', className = '') =>
  element('td', className, [first, ...(second ? [element('div', 'second', [second])] : [])]);

async function ask() {
  try {
    answer = /** @type {Answer} */ (await get('/api/inventory'));
    ahead = answer.now - Date.now();
    isLost = false;
  } catch (error) {
    console.error(error);
    isLost = true;
  }
  paint();
  setTimeout(ask, ASK_EVERY_MS);
}

const heads = HEADS.map((text) => element('th', text === 'A month' ? 'cost' : '', [text]));
byId('observes').textContent = OBSERVES;
byId('head').replaceChildren(element('tr', '', heads));
byId('search').addEventListener('input', (event) => {
  view.text = /** @type {HTMLInputElement} */ (event.target).value;
  paintRows();
});
void ask();
// Times grow older without any news.
setInterval(paint, 1000);

get('/api/about').then((about) => {
  const { links } = /** @type {{ links: Record<string, string> }} */ (about);
  const { Inventory: _, ...others } = links;
  byId('links').replaceChildren(...linksTo({ Dashboard: '/', ...others }));
}, console.error);
