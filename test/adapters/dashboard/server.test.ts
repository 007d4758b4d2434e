import { afterEach, describe, expect, test } from 'vitest';
import { addressActor, SECRET, startWorld, type World } from '../../dashboard/world.ts';

const worlds: World[] = [];
afterEach(async () => {
  await Promise.all(worlds.splice(0).map(({ dashboard }) => dashboard.close()));
});

async function world(...args: Parameters<typeof startWorld>): Promise<World> {
  const started = await startWorld(...args);
  worlds.push(started);
  return started;
}

async function get(url: string, init?: RequestInit) {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : null };
}

/** The news of the stream, one after the other, without the signs of life in between. */
async function* events(url: string): AsyncGenerator<{ readonly event: string; readonly data: Record<string, unknown> }> {
  const response = await fetch(`${url}/api/stream`);
  let rest = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (rest + chunk).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const [, event = '', data = ''] = /^event: (.+)\ndata: (.+)$/s.exec(part) ?? [];
      if (event !== 'heartbeat') yield { event, data: JSON.parse(data) };
    }
  }
}

test('a request at which something throws is answered with 500, and the next one as ever', async () => {
  let isBroken = true;
  const { url } = await world({
    access: () => {
      if (isBroken) throw new Error('a defect');
      return true;
    },
  });
  expect(await get(`${url}/api/about`)).toMatchObject({ status: 500, json: { error: 'a defect' } });
  isBroken = false;
  expect((await get(`${url}/api/about`)).status).toBe(200);
});

describe('the JSON of the dashboard', () => {
  test('lists the actors, and one with its record', async () => {
    const { url, put } = await world();
    put('ip', addressActor(0), { to: 'Electing', context: { address: '203.0.113.1' } });
    const all = await get(`${url}/api/actors`);
    expect(all.json).toMatchObject({ leading: true, term: 7, actors: [{ actor: addressActor(0), state: 'Electing', since: null }] });
    const one = await get(`${url}/api/actor?id=${encodeURIComponent(addressActor(0))}`);
    expect(one.json).toMatchObject({ row: { name: '203.0.113.1' }, record: { version: 1, snapshot: { value: 'Electing' } } });
  });

  test('tells since when a state holds, from the turn that entered it', async () => {
    const { url, put, turn } = await world({ now: () => 50 });
    put('ip', addressActor(0), { to: 'Electing' });
    turn({ [addressActor(0)]: { event: 'x', to: 'Assigning' } });
    const entered = (await get(`${url}/api/actors`)).json.actors[0].since;
    expect(entered).toBeGreaterThan(0);
    turn({ [addressActor(0)]: { event: 'NOTED', to: 'Assigning' } });
    expect((await get(`${url}/api/actors`)).json.actors[0].since).toBe(entered);
  });

  test('tells since when a state holds that an earlier leader entered, as the journal has it', async () => {
    const { url, put, wrote, turn } = await world();
    const [taken, older] = [addressActor(0), addressActor(1)];
    for (const actor of [taken, older]) put('ip', actor, { to: 'Electing' });
    wrote({ actor: taken, at: 5_000, event: 'GRANTED', from: 'Unassigned', to: 'Electing' });
    wrote({ actor: taken, at: 4_000, event: 'RESUME', from: 'Assigning', to: 'Unassigned' });
    const sinces = async () => ((await get(`${url}/api/actors`)).json.actors as { since: number | null }[]).map(({ since }) => since);
    expect(await sinces()).toEqual([5_000, null]);
    expect((await get(`${url}/api/actor?id=${encodeURIComponent(taken)}`)).json.row.since).toBe(5_000);
    turn({ [taken]: { event: 'x', to: 'Assigning' } });
    expect((await sinces())[0]).toBeGreaterThan(5_000);
  });

  test('asks the journal again when it could not be read', async () => {
    let asked = 0;
    const lastChanges = async (actors: readonly string[]) => {
      asked += 1;
      if (asked === 1) throw new Error('connect ECONNREFUSED');
      return new Map(actors.map((actor) => [actor, 5_000] as const));
    };
    const { url, put } = await world({ lastChanges });
    put('ip', addressActor(0), { to: 'Electing' });
    const since = async () => (await get(`${url}/api/actors`)).json.actors[0].since;
    expect([await since(), await since(), await since()]).toEqual([null, 5_000, 5_000]);
    expect(asked).toBe(2);
  });

  test('serves charts, journal and what it is', async () => {
    const { url, put, turn } = await world();
    put('ip', addressActor(0), { to: 'Electing' });
    turn({ [addressActor(0)]: { event: 'GRANTED', to: 'Assigning' } });
    expect((await get(`${url}/api/charts/ip`)).json).toMatchObject({ name: 'ip', root: { id: 'sample' } });
    const journal = await get(`${url}/api/journal?actor=${encodeURIComponent(addressActor(0))}`);
    expect(journal.json.entries).toMatchObject([{ event: 'GRANTED', from: 'Electing', to: 'Assigning' }]);
    expect((await get(`${url}/api/about`)).json).toMatchObject({ links: { Jobs: 'http://127.0.0.1:8082/jobs' }, charts: ['ip'] });
    expect((await get(`${url}/healthz`)).status).toBe(200);
  });

  test('answers what it does not know with 404, names of the language itself included', async () => {
    const { url } = await world();
    for (const path of [
      '/api/charts/constructor',
      '/api/charts/x',
      '/api/actor?id=x',
      '/api/x',
      '/x.js',
      '/../package.json',
      '/..%2fpackage.json',
    ]) {
      expect((await get(url + path)).status, path).toBe(404);
    }
  });

  test('changes nothing', async () => {
    const { url } = await world();
    expect((await get(`${url}/api/actors`, { method: 'POST' })).status).toBe(405);
  });

  test('shows no secret', async () => {
    const { url, put } = await world();
    put('ip', addressActor(0), { to: 'CoolOff', context: { failure: { kind: 'Unauthorized', message: `refused ${SECRET}` } } });
    for (const path of ['/api/actors', `/api/actor?id=${encodeURIComponent(addressActor(0))}`]) {
      const { text } = await get(url + path);
      expect(text).toContain('refused [redacted: token]');
      expect(text).not.toContain(SECRET);
    }
  });

  test('tells when the journal cannot be read', async () => {
    const { url } = await world({ journal: () => Promise.reject(new Error('connect ECONNREFUSED')) });
    expect(await get(`${url}/api/journal?actor=x`)).toMatchObject({ status: 500, json: { error: 'connect ECONNREFUSED' } });
  });
});

describe('the page', () => {
  test('and everything that it loads come from here, and nothing else may', async () => {
    const { url } = await world();
    const page = await get(`${url}/`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path);
    expect(loaded).toContain('/app.js');
    for (const path of [...loaded, '/vendor/elk-worker.js']) expect((await get(url + path)).status, path).toBe(200);
    expect(page.text).not.toMatch(/https?:\/\//);
  });
});

describe('the stream', () => {
  test('begins with everything, then tells what changed and what is gone in one message', async () => {
    const { url, put, turn, dashboard } = await world();
    put('ip', addressActor(0), { to: 'Electing' });
    put('ip', addressActor(1), { to: 'Electing' });
    const stream = events(url);
    const first = (await stream.next()).value;
    expect(first).toMatchObject({ event: 'all', data: { leading: true, rows: [{ state: 'Electing' }, { state: 'Electing' }] } });
    turn({ [addressActor(0)]: { event: 'x', to: 'Assigning' } });
    turn({ [addressActor(1)]: null });
    const second = (await stream.next()).value;
    expect(second).toMatchObject({
      event: 'changes',
      data: { rows: [{ actor: addressActor(0), state: 'Assigning' }], gone: [addressActor(1)] },
    });
    await dashboard.close();
    expect((await stream.next()).done).toBe(true);
  });

  test('tells since when the states hold once the journal was read', async () => {
    const started = await world();
    started.put('ip', addressActor(0), { to: 'Electing' });
    started.wrote({ actor: addressActor(0), at: 5_000, event: 'GRANTED', from: 'Unassigned', to: 'Electing' });
    const stream = events(started.url);
    expect((await stream.next()).value).toMatchObject({ event: 'all', data: { rows: [{ since: null }] } });
    expect((await stream.next()).value).toMatchObject({ event: 'changes', data: { rows: [{ since: 5_000 }] } });
    await stream.return(undefined);
  });

  test('tells everything again when this replica took over, although no state changed', async () => {
    const started = await world();
    started.put('ip', addressActor(0), { to: 'Electing' });
    started.put('ip', addressActor(1), { to: 'Electing' });
    started.leadership = { leading: false, term: 8, leader: 'pod-b', reach: null };
    const stream = events(started.url);
    expect((await stream.next()).value).toMatchObject({ event: 'all', data: { rows: [] } });
    started.dashboard.observer.reset();
    expect((await stream.next()).value).toMatchObject({ event: 'all', data: { leading: false, rows: [] } });
    started.leadership = { leading: true, term: 9, leader: 'pod-a', reach: null };
    started.turn({ [addressActor(0)]: { event: 'RESUME', to: 'Electing' } });
    expect((await stream.next()).value).toMatchObject({ event: 'all', data: { leading: true, rows: [{}, {}] } });
    await stream.return(undefined);
  });

  test('shows nothing of a replica that does not lead, and everything again once it does', async () => {
    const started = await world();
    started.put('ip', addressActor(0), { to: 'Electing' });
    started.leadership = { leading: false, term: 8, leader: 'pod-b', reach: null };
    const stream = events(started.url);
    expect((await stream.next()).value).toMatchObject({ event: 'all', data: { leading: false, leader: 'pod-b', rows: [] } });
    started.leadership = { leading: true, term: 9, leader: 'pod-a', reach: null };
    started.dashboard.observer.reset();
    expect((await stream.next()).value).toMatchObject({ event: 'all', data: { leading: true, rows: [{ state: 'Electing' }] } });
    await stream.return(undefined);
  });
});
