import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import type { ActorRecord } from '../../actors/ports.ts';
import { startInspector } from '../../adapters/inspector/server.ts';
import { accessTo } from '../../adapters/telemetry/access.ts';
import { launchChromium } from './chromium.ts';
import { sampleMachine } from './sample-machine.ts';

/** A viewer served from this machine. It asks for messages late, as the real one does once it is loaded, and lists what it is told. */
const VIEWER = `<!doctype html><ol></ol><script>
  addEventListener('message', ({ data }) => {
    const line = document.createElement('li');
    line.textContent = data.type + ' ' + data.sessionId + ' ' + JSON.stringify(data.snapshot?.value ?? null);
    document.querySelector('ol').append(line);
  });
  setTimeout(() => parent.postMessage({ type: '@statelyai.connected' }, '*'), 300);
</script>`;

const record = (value: string): ActorRecord => ({
  chart: 'ip',
  chartVersion: 1,
  snapshot: { value, context: {} },
  waiting: {},
  version: 1,
  term: 1,
});

test('the inspector page hands everything to a viewer that is served locally, what was said before it was ready included', async () => {
  const viewer = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end(VIEWER));
  await new Promise<void>((resolve) => viewer.listen(0, '127.0.0.1', resolve));
  const { port } = viewer.address() as { port: number };
  const bind = { host: '127.0.0.1', port: 0 };
  const bridge = await startInspector({
    bind,
    access: accessTo(bind, null),
    pageFolder: new URL('../../dashboard/', import.meta.url),
    viewerUrl: `http://127.0.0.1:${port}/inspect`,
    machines: { ip: sampleMachine },
    records: () => [{ actor: 'a', record: record('Electing') }],
    hide: (text) => text,
  });
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await page.goto(bridge.url);
    const heard = page.frameLocator('#viewer').locator('li');
    await heard.first().waitFor();
    expect(await heard.allTextContents()).toEqual(['@xstate.actor a "Electing"']);

    const transition = {
      actor: 'a',
      chart: 'ip',
      events: ['GRANTED'],
      consumed: [],
      before: record('Electing'),
      after: record('Assigning'),
    };
    bridge.observer.turnSaved({ cell: 'a', term: 1, at: 0, transitions: [transition] });
    await heard.nth(2).waitFor();
    expect(await heard.allTextContents()).toEqual(['@xstate.actor a "Electing"', '@xstate.event a null', '@xstate.snapshot a "Assigning"']);
    expect(await page.locator('#actor option').allTextContents()).toEqual(['the first hundred', 'a']);
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
    await bridge.close();
    await new Promise((resolve) => viewer.close(resolve));
  }
});
