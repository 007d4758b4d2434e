import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { entryOf } from '../support/entry.ts';
import { playGuide } from '../support/guide-player.ts';
import { type Guide, guideText } from '../support/guides.ts';
import { callsCloud, type NodeStage, ROOT, TOKEN } from './stage.ts';

/** Of the node's containerd. */
const SOCKET = `${process.env.NODE_RUN}/containerd.sock`;
/** What a reader has of the repository, as far as the guides use it. */
const WORKING_FOLDER = ['deploy', 'crds', 'demo'];

/**
 * What a guide names and is not to be had here, with what is in its place. Everything else is run as it stands.
 *
 * | the page | here |
 * |---|---|
 * | `docker build`, `docker push` | the image that the suite has built gets the name |
 * | `kind load docker-image` | fails if the node lacks the image |
 * | `npm pack`, `npm install -g` | the plugin is on PATH already; test:package packs and installs it |
 * | `doctl kubernetes cluster` | the nodes are there already |
 * | `doctl compute reserved-ip` | the account of the simulated DigitalOcean, as doctl prints it |
 * | `read -rs TOKEN` | the token of that account |
 * | DigitalOcean itself | `deploy/kustomization.yaml` of the working folder makes the operator call the simulator of the stage, unless the page brings its own |
 */
const STAND_INS: Readonly<Record<string, string>> = {
  docker: `case "$1" in
  build) [ "$2" = -t ] && [ -f Dockerfile ] || exit 64
    name=$3; built=docker.io/library/\${name##*/}
    has "$built" || { echo "$built was not built"; exit 1; }
    case $name in */*) $ctr images tag --force "$built" "$name" ;; esac ;;
  push) has "$2" ;;
  *) exit 64 ;;
esac >&2`,
  kind: '[ "$1 $2" = "load docker-image" ] || exit 64; shift 2; for name; do has "docker.io/library/$name"; done >/dev/null',
  npm: 'case "$*" in pack | "install -g ./routedip-operator-0.1.0.tgz" | "uninstall -g routedip-operator") ;; *) exit 64 ;; esac',
  doctl: `call() { curl -fsS -X "$1" -H "Authorization: Bearer ${TOKEN}" "$CLOUD/v2/$2"; }
case "$1 $2 $3" in
  "kubernetes cluster create" | "kubernetes cluster delete") ;;
  "compute reserved-ip list") call GET reserved_ips | node -e '${[
    'const { reserved_ips: ips } = JSON.parse(require("fs").readFileSync(0));',
    'console.log("IP Region Droplet ID Droplet Name");',
    'for (const { ip, region, droplet } of ips) console.log(ip, region.slug, droplet?.id ?? "", droplet?.name ?? "");',
  ].join(' ')}' ;;
  "compute reserved-ip delete") call DELETE "reserved_ips/$4" ;;
  *) exit 64 ;;
esac`,
};

/** Gives the operator's image the name under which the reader has pushed it to his registry. */
export function publishImage(name: string): void {
  const built = `docker.io/library/${name.split('/').at(-1)}`;
  execFileSync('ctr', ['--address', SOCKET, '--namespace', 'k8s.io', 'images', 'tag', '--force', built, name], { stdio: 'pipe' });
}

export interface ReaderOptions {
  /** Of the working folder, beside what the repository has: path and text. */
  readonly files?: Readonly<Record<string, string>>;
  readonly filledIn?: Readonly<Record<string, string>>;
  /** The page brings a simulated DigitalOcean of its own. */
  readonly hasOwnCloud?: boolean;
  /** Called with what each step printed. */
  readonly after?: (printed: string) => Promise<void>;
}

/** Plays a guide on the stage as its reader would, with `kubectl` as the administrator. @throws Error when a step fails, or prints something else than the page says */
export async function readGuide(
  stage: NodeStage,
  name: Guide,
  { files = {}, filledIn = {}, hasOwnCloud = false, after }: ReaderOptions = {},
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'reader-'));
  try {
    const [cwd, bin] = [join(folder, 'work'), join(folder, 'bin')];
    for (const path of WORKING_FOLDER) cpSync(join(ROOT, path), join(cwd, path), { recursive: true });
    cpSync(join(ROOT, 'Dockerfile'), join(cwd, 'Dockerfile'));
    for (const [path, text] of Object.entries(files)) writeFileSync(join(cwd, path), text);
    if (!hasOwnCloud) callSimulator(join(cwd, 'deploy/kustomization.yaml'), stage.cloud.url);
    mkdirSync(bin);
    const ctr = `ctr='ctr --address ${SOCKET} --namespace k8s.io'; has() { $ctr images ls --quiet 2>/dev/null | grep -Fx "$1"; }`;
    for (const [program, script] of Object.entries(STAND_INS)) {
      writeFileSync(join(bin, program), `#!/bin/bash\nset -e -o pipefail\n${ctr}\n${script}\n`, { mode: 0o755 });
    }
    symlinkSync(entryOf('kubectl-routedip'), join(bin, 'kubectl-routedip'));
    const path = [bin, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
    await playGuide(guideText(name), {
      cwd,
      env: { PATH: path, KUBECONFIG: stage.kubeconfig, CLOUD: stage.cloud.url },
      filledIn: { 'read -rs TOKEN ': `TOKEN=${TOKEN} `, ...filledIn },
      ...(after && { after: (_, printed) => after(printed) }),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Has every overlay of the kustomization call another DigitalOcean. */
function callSimulator(path: string, url: string): void {
  const kustomization = parse(readFileSync(path, 'utf8')) as JsonObject;
  writeFileSync(path, stringify({ ...kustomization, patches: [callsCloud(url)] }));
}
