// What the compose files say is done, by Debian's docker-compose on podman: `node tools/test-compose.ts <folder of images> <folder for work>`, where the images
// stand under the names that the files have for them. It is run apart from the machine's network and processes (tools/image-apart.ts).
//
// Three things differ from a machine with Docker: the images are there (their Dockerfile is built before by buildah, with the target that the file names); the line
// `name:` is given as --project-name, since this version of docker-compose does not know it; and health checks are started from here, since podman leaves that to systemd.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { COMPOSE, skip } from './image-apart.ts';
import { ImageStore } from './image-builder.ts';
import { composedImages } from './image-compose.ts';
import { type Engine, Project, settle, startEngine, whyNoNetwork } from './image-project.ts';
import { answers, type Check, demand, listens, report, until } from './image-run.ts';
import { holder, openStage, reachable, TOKEN, wantAddress } from './image-stage.ts';

const ROOT = join(import.meta.dirname, '..');
const DEMO = 'docker-compose.yml';
const OPERATOR = 'docker-compose.operator.yml';
/** What the demo says last, and what it says before: where its dashboards are. */
const END = 'Ctrl-C ends everything';
const DASHBOARD = /dashboard +(http:\/\/127\.0\.0\.1:\d+\/)\?token=(\w+)/;
const INSPECTOR = /inspector +(http:\/\/127\.0\.0\.1:\d+\/)\?token=\w+/;
/** As the file says that the plugin is used. */
const PLUGIN = /docker compose exec demo sh -c '(.*)'/.exec(readFileSync(join(ROOT, DEMO), 'utf8'))?.[1] ?? 'false';

function theDemo(engine: Engine, work: string): readonly Check[] {
  const project = new Project(engine, DEMO, work);
  return [
    [
      'is brought up: the whole story is played between the containers',
      async () => {
        await project.up('the demo is played', async () => project.said.includes(END));
        for (const act of ['Failover of', 'DNS record', 'Planned move of', 'Services web and mail', 'VirtualIP -> Service']) {
          demand(project.said.includes(act), `the demo says nothing of “${act}”`);
        }
      },
    ],
    [
      'shows its dashboards at the address that it prints, to whoever has the token, and all else inside only',
      async () => {
        const [, page, token] = DASHBOARD.exec(project.said) ?? [];
        if (!page || !token) throw new Error('the demo prints no address of its dashboard');
        await shows(page, token, ['203.0.113.1', '203.0.113.4', '198.51.100.8']);
        await inspects(INSPECTOR.exec(project.said)?.[1] ?? '', token, 'pool/default/ingress-pool/ip/203.0.113.1');
        const status = await project.run('exec', '-T', 'demo', 'sh', '-c', PLUGIN);
        demand(status.status === 0 && /shop +203\.0\.113\.4 +web-\d/.test(status.output), `the plugin says ${status.output}`);
      },
    ],
    ['ends as asked, and leaves nothing', () => project.end(2)],
  ];
}

async function theOperator(
  engine: Engine,
  work: string,
): Promise<{ readonly checks: readonly Check[]; readonly close: () => Promise<void> }> {
  const stage = await openStage(work);
  const cluster = await reachable(stage.url);
  const cloud = await reachable(stage.cloud.url);
  stage.writeKubeconfig(cluster.url);
  const word = 'a-word';
  const project = new Project(engine, OPERATOR, work, {
    KUBECONFIG: stage.kubeconfig,
    DIGITALOCEAN_ACCESS_TOKEN: TOKEN,
    DIGITALOCEAN_API_URL: cloud.url,
    ROUTEDIP_DASHBOARD_TOKEN: word,
  });
  const checks: readonly Check[] = [
    [
      'asks for the tokens before anything starts',
      async () => {
        for (const name of ['DIGITALOCEAN_ACCESS_TOKEN', 'ROUTEDIP_DASHBOARD_TOKEN']) {
          const given = { DIGITALOCEAN_ACCESS_TOKEN: TOKEN, ROUTEDIP_DASHBOARD_TOKEN: word, [name]: '' };
          const { status, output } = await new Project(engine, OPERATOR, work, given).run('up', '--no-build', '--no-color');
          demand(status !== 0 && output.includes(name), `without ${name} it says ${output}`);
        }
      },
    ],
    [
      'is brought up, and serves a pool of the cluster that the kubeconfig names',
      async () => {
        await project.up('the operator is ready', () => answers('http://127.0.0.1:8080/readyz'));
        await wantAddress(stage);
        await until('the address is active', async () => (await holder(stage)) !== null);
        await shows('http://127.0.0.1:8081/', word, [stage.ip]);
        await inspects('http://127.0.0.1:8082/', word, stage.ip);
      },
    ],
    ['ends as asked, and leaves nothing once its disk is given up', () => project.end(2, '--volumes')],
  ];
  const close = async () => {
    await cluster.close();
    await cloud.close();
    await stage.close();
  };
  return { checks, close };
}

async function shows(page: string, token: string, addresses: readonly string[]): Promise<void> {
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) => fetch(new URL(path, page), { headers });
  demand((await get('/')).status === 401, 'the dashboard is open to whoever has no token');
  const opened = await fetch(new URL(`/?token=${token}`, page), { headers: { accept: 'text/html' }, redirect: 'manual' });
  const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  demand(opened.status === 303 && cookie !== '', `the address with the token answers a browser with ${opened.status}`);
  const html = await (await get('/', { cookie })).text();
  demand(html.includes('<title>RoutedIP Operator</title>'), `the dashboard is ${html.slice(0, 200)}`);
  await until('the dashboard shows the addresses', async () => {
    const actors = await (await get('/api/actors', { cookie })).text();
    return addresses.every((address) => actors.includes(address));
  });
  await until('the job dashboard shows a job that was done', async () => {
    const { queues } = (await (await get('/jobs/api/queues', { cookie })).json()) as {
      readonly queues: readonly { readonly counts: { readonly completed: number } }[];
    };
    return queues.some(({ counts }) => counts.completed > 0);
  });
  demand(!(await listens(6379)), 'Redis can be reached from outside');
}

/** The inspector is at `page` for whoever has the token, and knows an actor whose id has `named` in it. */
async function inspects(page: string, token: string, named: string): Promise<void> {
  demand((await fetch(page)).status === 401, 'the inspector is open to whoever has no token');
  const headers = { authorization: `Bearer ${token}` };
  const html = await (await fetch(page, { headers })).text();
  demand(html.includes('<title>Inspector'), `the inspector is ${html.slice(0, 200)}`);
  await until('the inspector knows the address', async () =>
    (await (await fetch(new URL('/actors', page), { headers })).text()).includes(named),
  );
}

async function main(store: ImageStore, work: string): Promise<number> {
  settle(work);
  const unable = await whyNoNetwork(store, composedImages(ROOT).redis);
  if (unable !== null) {
    skip(COMPOSE.subject, `containers get no network here: ${unable}`, COMPOSE.checks);
    return 0;
  }
  const engine = await startEngine(store, work);
  const operator = await theOperator(engine, work);
  try {
    const demo = theDemo(engine, work);
    const failed = (await report(DEMO, demo)) + (await report(OPERATOR, operator.checks));
    console.log(`${demo.length + operator.checks.length - failed} passed, ${failed} failed`);
    return failed === 0 ? 0 : 1;
  } finally {
    await engine.close();
    await operator.close();
  }
}

const [images, given] = process.argv.slice(2);
if (!images || !given) throw new Error('two folders are needed: that of the images, and one to work in');
process.exitCode = await main(new ImageStore(resolve(images)), resolve(given));
