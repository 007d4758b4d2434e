// The viewer in the frame: asks for it, hears when it is there, and hands messages to it. It is there once it has said so.

/** @typedef {import('./inspector-model.js').Message} Message */
/** @typedef {'off' | 'waiting' | 'silent' | 'there'} Presence */

/** A viewer that has said nothing for so long after it was asked for is not waited for any more, ms. */
const PATIENCE_MS = 8_000;
/** How often one that is silent is asked for again, ms. */
const RETRY_MS = 30_000;

/** @param {{ frame: HTMLIFrameElement, url: string, arrived: () => Message[], changed: (presence: Presence) => void }} options
 *  `arrived` answers what introduces everything to a viewer that has just come */
export function createViewer({ frame, url, arrived, changed }) {
  const { origin } = new URL(url);
  /** @type {Presence} */
  let presence = 'off';
  /** @type {number | undefined} */
  let timer;

  /** @param {Presence} next */
  const become = (next) => {
    presence = next;
    changed(next);
  };
  /** @param {Message} message */
  const tell = (message) => frame.contentWindow?.postMessage(message, origin);

  /** Without an entry in the history, for which "back" would have to be pressed.
   * @param {string} where */
  const go = (where) => frame.contentWindow?.location.replace(where);

  const load = () => {
    clearTimeout(timer);
    go(url);
    timer = window.setTimeout(() => {
      become('silent');
      timer = window.setTimeout(load, RETRY_MS);
    }, PATIENCE_MS);
  };

  addEventListener('message', ({ origin: from, source, data }) => {
    if (presence === 'off' || from !== origin || source !== frame.contentWindow || data?.type !== '@statelyai.connected') return;
    clearTimeout(timer);
    for (const message of arrived()) tell(message);
    become('there');
  });

  return {
    /** Nothing reaches a viewer that has not said that it is there.
     * @param {Message} message */
    tell: (message) => {
      if (presence === 'there') tell(message);
    },
    /** Asks for it from the start; it forgets what it was told. */
    start: () => {
      become(presence === 'silent' ? 'silent' : 'waiting');
      load();
    },
    /** It is not asked for any more, and gets nothing. */
    stop: () => {
      clearTimeout(timer);
      go('about:blank');
      become('off');
    },
  };
}
