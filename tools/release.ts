import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Publication, publishedChart } from './release-chart.ts';
import { sectionOf } from './release-notes.ts';
import { krewManifest, packPlugin } from './release-plugin.ts';
import { releaseProblems } from './release-versions.ts';
import { ROOT } from './root.mjs';

const USAGE = `Usage: node tools/release.ts check TAG
       node tools/release.ts build TAG OWNER/REPOSITORY FOLDER

check  ends with 1 when package.json, the chart, the images in manifests or CHANGELOG.md are not of TAG
build  writes into FOLDER: assets/ (manifests, the plugin, its manifest for krew, SHA256SUMS), chart/, notes.md`;

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const TAG = /^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9a-z]+(\.[0-9a-z]+)*)?$/;
const REPOSITORY = /^[\w-]+\/[\w.-]+$/;

/** Names of images are in lower case, whatever the owner is called. */
export const publicationOf = (tag: string, repository: string): Publication => {
  const owner = repository.split('/')[0]?.toLowerCase();
  return {
    tag,
    home: `https://github.com/${repository}`,
    images: `ghcr.io/${owner}`,
    charts: `oci://ghcr.io/${owner}/charts`,
  };
};

/** The manifest in one file, with the image where it is published. */
const bundleOf = (file: string, { images }: Publication): string =>
  read(`deploy/${file}`).replace(/(image: )(routedip-operator:)/g, `$1${images}/$2`);

/** Everything that a release consists of besides its image. The same tag gives the same bytes. */
export const build = async (publication: Publication, folder: string): Promise<void> => {
  const { tag, home } = publication;
  const assets = join(folder, 'assets');
  const archive = `kubectl-routedip-${tag}.tar.gz`;
  mkdirSync(assets, { recursive: true });
  const sha256 = await packPlugin(join(assets, archive));
  const values = { TAG: tag, HOMEPAGE: home, URI: `${home}/releases/download/${tag}/${archive}`, SHA256: sha256 };
  const files = {
    'bundle-webhook.yaml': bundleOf('bundle-webhook.yaml', publication),
    'bundle.yaml': bundleOf('bundle.yaml', publication),
    'crds.yaml': read('deploy/crds.yaml'),
    'observer.yaml': bundleOf('observer.yaml', publication),
    'routedip.yaml': krewManifest(read('deploy/krew/routedip.yaml'), values),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(assets, name), text);
  const sums = [archive, ...Object.keys(files)].map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(assets, name)))
        .digest('hex')}  ${name}\n`,
  );
  writeFileSync(join(assets, 'SHA256SUMS'), sums.join(''));
  writeFileSync(join(folder, 'notes.md'), `${sectionOf(read('CHANGELOG.md'), tag.slice(1))?.text ?? ''}\n`);
  publishedChart(join(folder, 'chart/routedip-operator'), publication);
};

const main = async ([command, tag, repository, folder]: readonly string[]): Promise<number> => {
  if (command === 'check' && tag !== undefined) {
    const problems = releaseProblems(ROOT, tag);
    for (const problem of problems) console.error(problem);
    return problems.length === 0 ? 0 : 1;
  }
  if (command !== 'build' || !TAG.test(tag ?? '') || !REPOSITORY.test(repository ?? '') || !tag || !repository || !folder) {
    console.error(USAGE);
    return 2;
  }
  await build(publicationOf(tag, repository), folder);
  return 0;
};

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
